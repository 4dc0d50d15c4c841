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
 * Lease is given up, and others take it at once. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>
#include <kubelease.h>

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

static struct {
    const char *server, *namespace_, *lease, *identity, *token_file, *ca_file;
    const char *lease_duration_ms, *renew_deadline_ms, *retry_period_ms;
} options = {.lease = "leader-curl", .token_file = ACCOUNT "token", .ca_file = ACCOUNT "ca.crt"};

static volatile sig_atomic_t asked_to_stop;
static kl_elector elector;
static CURLM *multi;
static CURL *easy;               /* the connection; it lives as long as it works */
static struct curl_slist *headers;
static uint32_t in_flight;       /* id of the request that curl carries; 0: none */
static pid_t work;               /* 0: none */
static uint64_t kill_at_ms = KL_NEVER;

static void on_signal(int number)
{
    (void)number;
    asked_to_stop = 1;
}

static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", options.identity);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* A monotonic clock that goes on in suspend, and the civil one. */
static kl_now now(void)
{
    struct timespec mono, wall;
    clock_gettime(CLOCK_BOOTTIME, &mono);
    clock_gettime(CLOCK_REALTIME, &wall);
    return (kl_now){.mono_ms = (uint64_t)mono.tv_sec * 1000 + (uint64_t)mono.tv_nsec / 1000000,
                    .unix_us = (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000};
}

/* The first line of a small file; false where there is none. */
static bool read_line(const char *path, char *into, size_t capacity)
{
    FILE *file = fopen(path, "r");
    bool found = file != NULL && fgets(into, (int)capacity, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (found)
        into[strcspn(into, "\r\n")] = '\0';
    return found;
}

/* curl hands over each line of the head, the status line first. */
static size_t on_header(char *line, size_t size, size_t count, void *user)
{
    size_t length = size * count;
    const char *end = line + length, *colon = memchr(line, ':', length);
    (void)user;
    if (length > 12 && memcmp(line, "HTTP/", 5) == 0) {
        uint32_t status = (uint32_t)strtoul((const char *)memchr(line, ' ', length) + 1, NULL, 10);
        kl_elector_response_begin(&elector, in_flight, status);
    } else if (colon != NULL) {
        kl_str name = {line, (size_t)(colon - line)};
        kl_str value = {colon + 1, (size_t)(end - colon) - 1};
        kl_elector_response_header(&elector, in_flight, name, value);
    }
    return length;
}

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
    (void)user;
    kl_elector_response_body(&elector, in_flight, (const uint8_t *)data, size * count);
    return size * count;
}

/* Ends the connection with the request on it. The next one dials anew. */
static void drop_connection(void)
{
    if (in_flight != 0)
        curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
    easy = NULL;
    in_flight = 0;
}

static void add_header(const char *name, const char *value, size_t length)
{
    static char line[8192];
    snprintf(line, sizeof line, "%s: %.*s", name, (int)length, value);
    headers = curl_slist_append(headers, line);
}

static void send_request(uint32_t id, uint64_t deadline_ms)
{
    static char url[1024], body[1024], token[7000];
    size_t base = (size_t)snprintf(url, sizeof url, "%s", options.server), target_len, body_len;
    kl_request request = KL_REQUEST_INIT;
    kl_now sent = now();
    if (kl_elector_request(&elector, id, &request) != KL_OK ||
        base + request.target_len >= sizeof url || request.body_len >= sizeof body ||
        (easy == NULL && (easy = curl_easy_init()) == NULL)) {
        kl_elector_transport_error(&elector, id, KL_TRANSPORT_NOT_SENT, &sent);
        return;
    }
    kl_elector_request_read(&elector, id, KL_PART_TARGET, 0, (uint8_t *)url + base,
                            sizeof url - base - 1, &target_len);
    kl_elector_request_read(&elector, id, KL_PART_BODY, 0, (uint8_t *)body, sizeof body, &body_len);
    url[base + target_len] = '\0';
    curl_slist_free_all(headers);
    headers = NULL;
    add_header("Accept", request.accept.ptr, request.accept.len);
    if (body_len != 0)
        add_header("Content-Type", request.content_type.ptr, request.content_type.len);
    if (read_line(options.token_file, token, sizeof token)) { /* it rotates: read it each time */
        static char bearer[7100];
        int length = snprintf(bearer, sizeof bearer, "Bearer %s", token);
        add_header("Authorization", bearer, (size_t)length);
    }
    curl_easy_reset(easy); /* keeps the connection */
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "leader-gateway/1");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     deadline_ms > sent.mono_ms ? (long)(deadline_ms - sent.mono_ms) : 1L);
    if (access(options.ca_file, R_OK) == 0)
        curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file);
    if (body_len != 0) {
        char method[8];
        snprintf(method, sizeof method, "%.*s", (int)request.method_name.len,
                 request.method_name.ptr);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)body_len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    }
    in_flight = id;
    curl_multi_add_handle(multi, easy);
}

/* Tells the elector how its request ended. */
static void finish_request(CURLcode result)
{
    uint32_t id = in_flight;
    kl_now ended = now();
    if (result == CURLE_OK) {
        curl_multi_remove_handle(multi, easy);
        in_flight = 0;
        kl_elector_response_end(&elector, id, &ended);
        return;
    }
    say("%s", curl_easy_strerror(result));
    drop_connection();
    bool not_sent = result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_CONNECT ||
                    result == CURLE_SSL_CONNECT_ERROR || result == CURLE_PEER_FAILED_VERIFICATION;
    kl_elector_transport_error(&elector, id,
                               not_sent ? KL_TRANSPORT_NOT_SENT : KL_TRANSPORT_UNKNOWN, &ended);
}

static void start_work(char **command)
{
    kl_fence fence;
    char token[32] = "";
    if (kl_elector_fence(&elector, &fence) == KL_OK)
        snprintf(token, sizeof token, "%" PRIu64, kl_fence_token(&fence));
    say("leads, fence %s", token);
    if (work > 0) { /* of a term just before, and slow to end: this term has its own */
        kill(work, SIGKILL);
        waitpid(work, NULL, 0);
    }
    kill_at_ms = KL_NEVER;
    work = fork();
    if (work == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever kills this process ends its work, too */
        setenv("KUBELEASE_FENCE", token, 1);
        execvp(command[0], command);
        _exit(127);
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
        say("leads no more: %s", kl_stop_reason_name(action->reason));
        kill_at_ms = action->must_cease_by_ms;
        if (work > 0)
            kill(work, SIGTERM);
        break;
    case KL_EVENT_LEADER_CHANGED:
        if (kl_elector_leader(&elector, &leader) == KL_OK)
            say("leader is \"%.*s\"", (int)leader.len, leader.ptr);
        break;
    case KL_EVENT_RECONNECT_ADVISED:
        if (in_flight == 0)
            drop_connection();
        break;
    case KL_EVENT_TROUBLE:
        say("%s", kl_trouble_name(action->reason));
        break;
    case KL_EVENT_FINISHED:
        say("%s", kl_finish_name(action->reason));
        break;
    default:
        say("%s", kl_event_name(action->event));
    }
}

/* Ends the command in time, and notices that it has ended: then the Lease is given up. */
static void watch_work(void)
{
    kl_now at = now();
    if (work > 0 && at.mono_ms >= kill_at_ms)
        kill(work, SIGKILL);
    if (work > 0 && waitpid(work, NULL, at.mono_ms >= kill_at_ms ? 0 : WNOHANG) == work) {
        work = 0;
        kill_at_ms = KL_NEVER;
        if (kl_elector_is_leading(&elector, at.mono_ms))
            kl_elector_work_done(&elector, &at);
    }
}

/* All that is wanted now; returns how long to sleep, or -1 at the end. */
static int turn(char **command)
{
    for (;;) {
        kl_now at = now();
        kl_action action = KL_ACTION_INIT;
        if (kl_elector_poll(&elector, &at, &action) != KL_OK)
            return -1;
        switch (action.kind) {
        case KL_ACTION_EVENT:
            on_event(&action, command);
            watch_work();
            break;
        case KL_ACTION_SEND:
            send_request(action.request_id, action.deadline_ms);
            break;
        case KL_ACTION_CANCEL:
            drop_connection();
            break;
        case KL_ACTION_STOPPED:
            return -1;
        default: /* a quarter of a second: signals and the command are looked at as well */
            if (action.deadline_ms <= at.mono_ms)
                return 0;
            return action.deadline_ms - at.mono_ms < 250 ? (int)(action.deadline_ms - at.mono_ms)
                                                         : 250;
        }
    }
}

/* A duration from the command line, if it is there. */
static void set_duration(uint32_t *into, const char *text)
{
    if (text != NULL)
        *into = (uint32_t)strtoul(text, NULL, 10);
}

static kl_status begin(void)
{
    kl_elector_config config;
    kl_now at = now();
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = (kl_str){options.namespace_, strlen(options.namespace_)};
    config.name = (kl_str){options.lease, strlen(options.lease)};
    config.identity = (kl_str){options.identity, strlen(options.identity)};
    set_duration(&config.lease_duration_ms, options.lease_duration_ms);
    set_duration(&config.renew_deadline_ms, options.renew_deadline_ms);
    set_duration(&config.retry_period_ms, options.retry_period_ms);
    config.seed = at.mono_ms ^ (uint64_t)getpid() << 32;
    return kl_elector_init(&elector, sizeof elector, &config, &at);
}

static char **parse(int count, char **arguments)
{
    static char host[256], identity[300], namespace_[64] = "default", server[300];
    static const char *const names[] = {"--server",   "--namespace",  "--lease",
                                        "--identity", "--token-file", "--ca-file",
                                        "--lease-duration-ms", "--renew-deadline-ms",
                                        "--retry-period-ms"};
    const char **places[] = {&options.server,   &options.namespace_, &options.lease,
                             &options.identity, &options.token_file, &options.ca_file,
                             &options.lease_duration_ms, &options.renew_deadline_ms,
                             &options.retry_period_ms};
    gethostname(host, sizeof host - 1);
    snprintf(identity, sizeof identity, "%s_%ld", host, (long)getpid());
    options.identity = identity;
    read_line(ACCOUNT "namespace", namespace_, sizeof namespace_);
    options.namespace_ = namespace_;
    if (getenv("KUBERNETES_SERVICE_HOST") != NULL && getenv("KUBERNETES_SERVICE_PORT") != NULL) {
        snprintf(server, sizeof server, "https://%s:%s", getenv("KUBERNETES_SERVICE_HOST"),
                 getenv("KUBERNETES_SERVICE_PORT"));
        options.server = server;
    }
    int i = 1;
    for (; i + 1 < count && strncmp(arguments[i], "--", 2) == 0; i += 2)
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++)
            if (strcmp(arguments[i], names[j]) == 0)
                *places[j] = arguments[i + 1];
    return options.server != NULL && i < count ? arguments + i : NULL;
}

int main(int count, char **arguments)
{
    char **command = parse(count, arguments);
    if (command == NULL) {
        fprintf(stderr, "usage: leader_curl --server URL [options] COMMAND [ARGUMENT...]\n");
        return 2;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    kl_status status = begin();
    if (status != KL_OK || curl_global_init(CURL_GLOBAL_DEFAULT) != 0 ||
        (multi = curl_multi_init()) == NULL) {
        fprintf(stderr, "leader_curl: %s\n", kl_status_name(status));
        return 1;
    }
    for (int wait_ms; (wait_ms = turn(command)) >= 0;) {
        int running, left;
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;)
            if (message->msg == CURLMSG_DONE) {
                finish_request(message->data.result);
                wait_ms = 0;
            }
        watch_work();
        if (wait_ms > 0)
            curl_multi_poll(multi, NULL, 0, wait_ms, NULL);
        if (asked_to_stop) { /* lead on until the command has ended */
            kl_now at = now();
            asked_to_stop = 0;
            kl_elector_stop_when_idle(&elector, &at);
            if (work > 0)
                kill(work, SIGTERM);
        }
    }
    kill_at_ms = kill_at_ms == KL_NEVER ? now().mono_ms : kill_at_ms;
    while (work > 0)
        watch_work(), usleep(10000);
    drop_connection();
    curl_slist_free_all(headers);
    curl_multi_cleanup(multi);
    curl_global_cleanup();
    return 0;
}
