/* An edge gateway that says in a Lease that it lives, with libcurl: for itself, or for its Node.
 *
 *   heartbeat_curl [options]
 *     --node NAME        the heartbeat of a Node, as kubelet's: in the namespace kube-node-lease,
 *                        with the Node's name for Lease and holder. The Node owns the Lease; it is
 *                        looked up, and said to be not ready where it is not
 *     --namespace NS     default: the pod's, or "default"
 *     --lease NAME, --holder NAME
 *                        default: the name of the host, for both
 *     --alive-file FILE  beat only while something touches this file, at least each half minute:
 *                        so the beat vouches for the gateway's work, and not for this program
 *     --retire keep|final-beat|delete
 *                        what becomes of the Lease at the end; default: keep, and it runs out
 *     --server URL, --token-file FILE, --ca-file FILE
 *                        default: those of the pod's service account
 *     --lease-duration-ms N, --interval-ms N, --alive-ms N
 *                        default: 40000, a quarter of it, 30000
 *
 * SIGTERM and SIGINT end it. It needs the rights in examples/deploy/heartbeat.yaml: all of them are
 * tied to names, and whatever others put into the Lease is put back with each beat. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kubelease.h>

#include "curl_transport.h"
#include "gateway.h"

static kl_heartbeat heart;
static struct curl_transport transport = {.heartbeat = &heart,
                                          .token_file = GATEWAY_ACCOUNT "token",
                                          .ca_file = GATEWAY_ACCOUNT "ca.crt",
                                          .user_agent = "heartbeat-gateway/1"};
static const char *alive_file;
static uint32_t retire = KL_RETIRE_KEEP;
static uint8_t keep[65536];

static void on_event(const kl_action *action)
{
    switch (action->event) {
    case KL_EVENT_TROUBLE:
        gateway_say("%s %" PRIu32, kl_trouble_name(action->reason), action->detail);
        break;
    case KL_EVENT_NODE_NOT_READY:
        gateway_say("the Node is not ready: %s", kl_readiness_name(action->reason));
        break;
    case KL_EVENT_FINISHED:
        gateway_say("%s", kl_finish_name(action->reason));
        break;
    case KL_EVENT_RECONNECT_ADVISED:
        if (transport.in_flight == 0)
            curl_transport_drop(&transport);
        break;
    default:
        gateway_say("%s", kl_event_name(action->event));
    }
}

/* Tells of the first beat, and of one after a silence. */
static void watch_health(uint64_t mono_ms)
{
    static uint32_t state;
    kl_health health = KL_HEALTH_INIT;
    if (kl_heartbeat_last_beat(&heart) == KL_NEVER ||
        kl_heartbeat_health(&heart, mono_ms, &health) != KL_OK || health.state == state)
        return;
    state = health.state;
    gateway_say("%s", state == KL_HEALTH_OK       ? "beats"
                      : state == KL_HEALTH_LAPSED ? "has lapsed"
                                                  : "is silent");
}

/* The work lives where its file has another time than before. */
static void watch_work(const kl_now *now)
{
    static struct timespec touched;
    struct stat file;
    if (alive_file == NULL || stat(alive_file, &file) != 0 ||
        (file.st_mtim.tv_sec == touched.tv_sec && file.st_mtim.tv_nsec == touched.tv_nsec))
        return;
    touched = file.st_mtim;
    kl_heartbeat_alive(&heart, now);
}

/* All that is wanted now; returns how long to sleep, or -1 at the end. */
static int turn(void)
{
    for (;;) {
        kl_now now = gateway_now();
        kl_action action = KL_ACTION_INIT;
        watch_work(&now);
        if (kl_heartbeat_poll(&heart, &now, &action) != KL_OK)
            return -1;
        switch (action.kind) {
        case KL_ACTION_EVENT:
            on_event(&action);
            break;
        case KL_ACTION_SEND:
            curl_transport_send(&transport, action.request_id, action.deadline_ms);
            break;
        case KL_ACTION_CANCEL:
            curl_transport_drop(&transport);
            break;
        case KL_ACTION_STOPPED:
            return -1;
        default: /* a quarter of a second: signals and the file are looked at as well */
            watch_health(now.mono_ms);
            return gateway_wait_ms(action.deadline_ms, now.mono_ms, 250);
        }
    }
}

static bool parse_retire(const char *text)
{
    static const char *const names[] = {"keep", "final-beat", "delete"};
    static const uint32_t values[] = {KL_RETIRE_KEEP, KL_RETIRE_FINAL_BEAT, KL_RETIRE_DELETE};
    for (size_t i = 0; i < 3; i++)
        if (text == NULL || strcmp(text, names[i]) == 0) {
            retire = values[i];
            return true;
        }
    return false;
}

/* Makes the heartbeat as the command line says. */
static bool begin(int count, char **arguments)
{
    const char *node = NULL, *namespace_ = NULL, *lease = NULL, *holder = NULL, *how = NULL;
    const char *duration = NULL, *interval = NULL, *alive = "30000";
    const struct gateway_option options[] = {
        {"--server", &transport.server},  {"--token-file", &transport.token_file},
        {"--ca-file", &transport.ca_file}, {"--node", &node},
        {"--namespace", &namespace_},     {"--lease", &lease},
        {"--holder", &holder},            {"--alive-file", &alive_file},
        {"--alive-ms", &alive},           {"--retire", &how},
        {"--lease-duration-ms", &duration}, {"--interval-ms", &interval},
    };
    kl_now now = gateway_now();
    kl_heartbeat_config config;
    transport.server = gateway_pod_server();
    int rest = gateway_parse(count, arguments, options, sizeof options / sizeof options[0]);
    if (transport.server == NULL || rest != count || !parse_retire(how)) {
        fprintf(stderr, "usage: heartbeat_curl --server URL [--node NAME] [options]\n");
        return false;
    }
    const char *self = node != NULL ? node : gateway_host();
    const char *home = node != NULL ? "kube-node-lease" : gateway_pod_namespace();
    gateway_name = holder != NULL ? holder : self;
    kl_heartbeat_config_default(&config, sizeof config);
    config.flags = KL_HEARTBEAT_AT_ONCE | (node != NULL ? KL_HEARTBEAT_WATCH_NODE : 0u);
    config.node = gateway_text(node);
    home = namespace_ != NULL ? namespace_ : home;
    config.namespace_ = gateway_text(home != NULL ? home : "default");
    config.name = gateway_text(lease != NULL ? lease : self);
    config.holder = gateway_text(gateway_name);
    config.write = KL_WRITE_UPDATE;
    config.create = KL_CREATE_PUT;
    config.keep = keep;
    config.keep_len = sizeof keep;
    if (!gateway_number(&config.lease_duration_ms, duration) ||
        !gateway_number(&config.interval_ms, interval) ||
        (alive_file != NULL && !gateway_number(&config.liveness_ttl_ms, alive)) ||
        !gateway_readable(transport.token_file, GATEWAY_ACCOUNT "token") ||
        !gateway_readable(transport.ca_file, GATEWAY_ACCOUNT "ca.crt"))
        return false;
    config.seed = now.mono_ms ^ (uint64_t)getpid() << 32;
    kl_status status = kl_heartbeat_init(&heart, sizeof heart, &config, &now);
    if (status != KL_OK)
        gateway_say("%s", kl_status_name(status));
    return status == KL_OK;
}

int main(int count, char **arguments)
{
    if (!begin(count, arguments) || !curl_transport_open(&transport))
        return 2;
    gateway_catch_signals();
    for (int wait_ms; (wait_ms = turn()) >= 0;) {
        curl_transport_run(&transport, wait_ms);
        if (gateway_asked_to_stop()) {
            kl_now now = gateway_now();
            kl_heartbeat_retire(&heart, &now, retire);
        }
    }
    curl_transport_close(&transport);
    return 0;
}
