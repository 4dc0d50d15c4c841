/* An edge gateway that runs a command on one node at a time, with libcurl.
 *
 *   leader_curl [options] COMMAND [ARGUMENT...]
 *     --server URL       the API server; in a pod not needed
 *     --namespace NS     default: the pod's, or "default"
 *     --lease NAME       default: "leader-curl"
 *     --identity NAME    default: host name and process id
 *     --token-file FILE  default: the service account's
 *     --ca-file FILE     default: the service account's
 *     --lease-duration-ms N, --renew-deadline-ms N, --retry-period-ms N
 *                        default: 15000, 10000, 2000, as Kubernetes' own components
 *
 * The command starts when this process begins to lead, with the fencing token in KUBELEASE_FENCE.
 * When leadership ends it gets SIGTERM, and SIGKILL at the instant at which all work must have
 * ended. SIGTERM and SIGINT are passed on to it, and leadership lasts until it has ended: then the
 * Lease is given up, and others take it at once. The exit code is that of the last command, as a
 * shell tells it: 127 where it was not found, 126 where it could not be run. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kubelease.h>

#include "curl_transport.h"
#include "gateway.h"

static kl_elector elector;
static struct curl_transport transport = {.elector = &elector,
                                          .token_file = GATEWAY_ACCOUNT "token",
                                          .ca_file = GATEWAY_ACCOUNT "ca.crt",
                                          .user_agent = "leader-gateway/1"};
static pid_t work; /* 0: none; below: there could be none */
static uint64_t kill_at_ms = KL_NEVER;
static int exit_code; /* of the command */

enum { COOLDOWN_MS = 60000 }; /* for who could not start the command */

static void start_work(char **command)
{
    kl_fence fence;
    char token[32] = "";
    if (kl_elector_fence(&elector, &fence) == KL_OK)
        snprintf(token, sizeof token, "%" PRIu64, kl_fence_token(&fence));
    gateway_say("leads, fence %s", token);
    if (work > 0) { /* of a term just before, and slow to end: this term has its own */
        kill(work, SIGKILL);
        waitpid(work, NULL, 0);
    }
    kill_at_ms = KL_NEVER;
    pid_t self = getpid();
    work = fork();
    if (work == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever kills this process ends its work, too */
        setenv("KUBELEASE_FENCE", token, 1);
        if (getppid() == self) /* or it was killed before that counted */
            execvp(command[0], command);
        int reason = errno;
        perror(command[0]);
        _exit(reason == ENOENT ? 127 : 126);
    }
    if (work < 0) { /* who can do no work must not keep others from it */
        kl_now now = gateway_now();
        gateway_say("cannot start the command");
        kl_elector_step_down(&elector, &now, COOLDOWN_MS);
    }
}

static void on_event(const kl_action *action, char **command)
{
    kl_str leader;
    switch (action->event) {
    case KL_EVENT_STARTED_LEADING:
        start_work(command);
        break;
    case KL_EVENT_STOPPED_LEADING:
        gateway_say("leads no more: %s", kl_stop_reason_name(action->reason));
        kill_at_ms = action->must_cease_by_ms;
        if (work > 0)
            kill(work, SIGTERM);
        break;
    case KL_EVENT_LEADER_CHANGED:
        if (kl_elector_leader(&elector, &leader) == KL_OK)
            gateway_say("leader is \"%.*s\"", (int)leader.len, leader.ptr);
        break;
    case KL_EVENT_RECONNECT_ADVISED:
        if (transport.in_flight == 0)
            curl_transport_drop(&transport);
        break;
    case KL_EVENT_TROUBLE:
        gateway_say("%s", kl_trouble_name(action->reason));
        break;
    case KL_EVENT_FINISHED:
        gateway_say("%s", kl_finish_name(action->reason));
        break;
    default:
        gateway_say("%s", kl_event_name(action->event));
    }
}

/* Ends the command in time, and notices that it has ended: then the Lease is given up. */
static void watch_work(void)
{
    kl_now at = gateway_now();
    if (work > 0 && at.mono_ms >= kill_at_ms)
        kill(work, SIGKILL);
    int status;
    if (work > 0 && waitpid(work, &status, at.mono_ms >= kill_at_ms ? 0 : WNOHANG) == work) {
        work = 0;
        exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        kill_at_ms = KL_NEVER;
        if (kl_elector_is_leading(&elector, at.mono_ms))
            kl_elector_work_done(&elector, &at);
    }
}

/* All that is wanted now; returns how long to sleep, or -1 at the end. */
static int turn(char **command)
{
    for (;;) {
        kl_now at = gateway_now();
        kl_action action = KL_ACTION_INIT;
        if (kl_elector_poll(&elector, &at, &action) != KL_OK)
            return -1;
        switch (action.kind) {
        case KL_ACTION_EVENT:
            on_event(&action, command);
            watch_work();
            break;
        case KL_ACTION_SEND:
            curl_transport_send(&transport, action.request_id, action.deadline_ms);
            break;
        case KL_ACTION_CANCEL:
            curl_transport_drop(&transport);
            break;
        case KL_ACTION_STOPPED:
            return -1;
        default: /* a quarter of a second: signals and the command are looked at as well */
            return gateway_wait_ms(action.deadline_ms, at.mono_ms, 250);
        }
    }
}

/* Makes the elector as the command line says; the command, or NULL. */
static char **begin(int count, char **arguments)
{
    static char identity[300];
    const char *namespace_ = gateway_pod_namespace(), *lease = "leader-curl";
    const char *lease_duration = NULL, *renew_deadline = NULL, *retry_period = NULL;
    const struct gateway_option options[] = {
        {"--server", &transport.server},         {"--token-file", &transport.token_file},
        {"--ca-file", &transport.ca_file},       {"--namespace", &namespace_},
        {"--lease", &lease},                     {"--identity", &gateway_name},
        {"--lease-duration-ms", &lease_duration}, {"--renew-deadline-ms", &renew_deadline},
        {"--retry-period-ms", &retry_period},
    };
    kl_now now = gateway_now();
    kl_elector_config config;
    transport.server = gateway_pod_server();
    snprintf(identity, sizeof identity, "%s_%ld", gateway_host(), (long)getpid());
    gateway_name = identity;
    int command = gateway_parse(count, arguments, options, sizeof options / sizeof options[0]);
    if (transport.server == NULL || command < 0 || command >= count) {
        fprintf(stderr, "usage: leader_curl --server URL [options] COMMAND [ARGUMENT...]\n");
        return NULL;
    }
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = gateway_text(namespace_ != NULL ? namespace_ : "default");
    config.name = gateway_text(lease);
    config.identity = gateway_text(gateway_name);
    if (!gateway_number(&config.lease_duration_ms, lease_duration) ||
        !gateway_number(&config.renew_deadline_ms, renew_deadline) ||
        !gateway_number(&config.retry_period_ms, retry_period) ||
        !gateway_readable(transport.token_file, GATEWAY_ACCOUNT "token") ||
        !gateway_readable(transport.ca_file, GATEWAY_ACCOUNT "ca.crt"))
        return NULL;
    config.seed = now.mono_ms ^ (uint64_t)getpid() << 32;
    kl_status status = kl_elector_init(&elector, sizeof elector, &config, &now);
    if (status != KL_OK)
        gateway_say("%s", kl_status_name(status));
    return status == KL_OK ? arguments + command : NULL;
}

int main(int count, char **arguments)
{
    char **command = begin(count, arguments);
    if (command == NULL || !curl_transport_open(&transport))
        return 2;
    gateway_catch_signals();
    for (int wait_ms; (wait_ms = turn(command)) >= 0;) {
        curl_transport_run(&transport, wait_ms);
        watch_work();
        if (gateway_asked_to_stop()) { /* lead on until the command has ended */
            kl_now now = gateway_now();
            kl_elector_stop_when_idle(&elector, &now);
            if (work > 0)
                kill(work, SIGTERM);
        }
    }
    kill_at_ms = kill_at_ms == KL_NEVER ? gateway_now().mono_ms : kill_at_ms;
    while (work > 0)
        watch_work(), usleep(10000);
    curl_transport_close(&transport);
    return exit_code;
}
