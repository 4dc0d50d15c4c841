/* An election without any network, printed as a transcript: two candidates, one Lease in memory.
 *
 * It shows every step that a transport has to do. Time is a number that jumps to whatever is due
 * next. At 20 s the leader crashes; its successor takes over when the lease has run out, and
 * gives it up at 50 s. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kubelease.h>

/* The Lease as an API server keeps it: version 0 is none. */
static struct {
    unsigned version;
    char holder[64], acquire_time[32], renew_time[32];
    long duration, transitions;
} lease;

/* A device has no more room than this for a piece of an answer, and for pieces of a request. */
enum { BUFFER = 64, PIECES = 8 };

static void take_text(const char *body, const char *key, char *into, size_t capacity)
{
    const char *begin = strstr(body, key);
    if (begin != NULL)
        snprintf(into, capacity, "%.*s", (int)strcspn(begin + strlen(key), "\""),
                 begin + strlen(key));
}

static void take_number(const char *body, const char *key, long *into)
{
    const char *begin = strstr(body, key);
    if (begin != NULL)
        *into = strtol(begin + strlen(key), NULL, 10);
}

/* What a server does with a request. Returns the status code and writes the body. */
static uint32_t serve(uint32_t method, const char *body, char *answer, size_t capacity)
{
    char condition[32];
    snprintf(condition, sizeof condition, "\"resourceVersion\":\"%u\"", lease.version);
    uint32_t status = method == KL_METHOD_POST ? 201 : 200;
    const char *reason = NULL;
    if (method == KL_METHOD_POST ? lease.version != 0
                                 : method == KL_METHOD_PATCH && !strstr(body, condition))
        status = 409, reason = "Conflict";
    else if (lease.version == 0 && method == KL_METHOD_GET)
        status = 404, reason = "NotFound";
    if (reason != NULL) {
        snprintf(answer, capacity,
                 "{\"kind\":\"Status\",\"reason\":\"%s\",\"details\":{\"name\":\"demo\"}}", reason);
        return status;
    }
    if (method != KL_METHOD_GET) {
        take_text(body, "\"holderIdentity\":\"", lease.holder, sizeof lease.holder);
        take_text(body, "\"acquireTime\":\"", lease.acquire_time, sizeof lease.acquire_time);
        take_text(body, "\"renewTime\":\"", lease.renew_time, sizeof lease.renew_time);
        take_number(body, "\"leaseDurationSeconds\":", &lease.duration);
        take_number(body, "\"leaseTransitions\":", &lease.transitions);
        lease.version++;
    }
    snprintf(answer, capacity,
             "{\"kind\":\"Lease\",\"metadata\":{\"uid\":\"6c1f\",\"resourceVersion\":\"%u\"},"
             "\"spec\":{\"holderIdentity\":\"%s\",\"acquireTime\":\"%s\",\"renewTime\":\"%s\","
             "\"leaseDurationSeconds\":%ld,\"leaseTransitions\":%ld}}",
             lease.version, lease.holder, lease.acquire_time, lease.renew_time, lease.duration,
             lease.transitions);
    return status;
}

/* Sends one request and feeds its answer, both in pieces: those of the request lie where they are,
 * in the program and in the elector, and those of the answer come in a small buffer. */
static void exchange(const char *who, kl_elector *elector, uint32_t id, kl_now now)
{
    kl_request request = KL_REQUEST_INIT;
    kl_piece pieces[PIECES];
    char body[512], answer[512];
    uint8_t scratch[KL_PIECES_SCRATCH];
    size_t have = 0, first = 0, count;
    if (kl_elector_request(elector, id, &request) != KL_OK || request.body_len >= sizeof body)
        return;
    do { /* a real transport hands them to writev; kl_elector_request_read makes copies instead */
        if (kl_elector_request_pieces(elector, id, KL_PART_BODY, first, pieces, PIECES, scratch,
                                      sizeof scratch, &count))
            return;
        for (size_t i = 0; i < count; have += pieces[i].len, i++)
            memcpy(body + have, pieces[i].ptr, pieces[i].len);
        first += count;
    } while (count != 0);
    body[have] = '\0';
    uint32_t status = serve(request.method, body, answer, sizeof answer);
    printf("%8" PRIu64 "  %s  %.*s: %u\n", now.mono_ms, who, (int)request.method_name.len,
           request.method_name.ptr, (unsigned)status);
    kl_elector_response_begin(elector, id, status);
    for (size_t at = 0, length = strlen(answer); at < length; at += BUFFER)
        kl_elector_response_body(elector, id, (const uint8_t *)answer + at,
                                 length - at < BUFFER ? length - at : BUFFER);
    kl_elector_response_end(elector, id, &now);
}

/* Does all that `elector` wants at this moment; returns when it wants to be asked again. */
static uint64_t turn(const char *who, kl_elector *elector, kl_now now)
{
    for (;;) {
        kl_action action = KL_ACTION_INIT;
        if (kl_elector_poll(elector, &now, &action) != KL_OK)
            return KL_NEVER;
        switch (action.kind) {
        case KL_ACTION_EVENT:
            printf("%8" PRIu64 "  %s  %s\n", now.mono_ms, who, kl_event_name(action.event));
            break;
        case KL_ACTION_SEND:
            exchange(who, elector, action.request_id, now);
            break;
        case KL_ACTION_WAIT:
        case KL_ACTION_STOPPED:
            return action.deadline_ms;
        default: /* KL_ACTION_CANCEL: there is no connection to end */
            break;
        }
    }
}

static kl_now at(uint64_t ms)
{
    kl_now now = {ms, INT64_C(1767225600000000) + (int64_t)ms * 1000};
    return now;
}

int main(void)
{
    static const char *const names[] = {"ada", "bob"};
    static kl_elector electors[2];
    uint64_t due[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        kl_elector_config config;
        kl_now now = at(0);
        kl_elector_config_default(&config, sizeof config);
        config.namespace_ = KL_STR("default");
        config.name = KL_STR("demo");
        config.identity.ptr = names[i];
        config.identity.len = strlen(names[i]);
        config.seed = (uint64_t)i;
        kl_status status = kl_elector_init(&electors[i], sizeof electors[i], &config, &now);
        if (status != KL_OK) {
            fprintf(stderr, "%s\n", kl_status_name(status));
            return 1;
        }
    }
    printf("      ms  who  what        (kubelease %s, %zu bytes each)\n", kl_version_string(),
           kl_elector_size());
    while (due[0] < 60000 || due[1] < 60000) {
        int i = due[1] < due[0];
        kl_now now = at(due[i]);
        if (i == 0 && now.mono_ms >= 20000) {
            due[0] = KL_NEVER; /* that is what a crash looks like */
            continue;
        }
        if (i == 1 && now.mono_ms >= 50000)
            kl_elector_stop(&electors[1], &now);
        due[i] = turn(names[i], &electors[i], now);
        if (kl_elector_is_leading(&electors[0], now.mono_ms) &&
            kl_elector_is_leading(&electors[1], now.mono_ms))
            return 1;
    }
    /* Nobody told ada that it leads no more. It knows by itself. */
    return kl_elector_is_leading(&electors[0], 60000) || lease.holder[0] != '\0';
}
