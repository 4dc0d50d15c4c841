#include "fake_server.h"

#define OBJECT kl_elector
#define CALL(name) kl_elector_##name
#include "pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of member `name` in `json`, where it is a string. */
static bool text_member(const char *json, const char *name, char *into, size_t capacity)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":\"", name);
    const char *begin = strstr(json, key);
    if (begin == NULL)
        return false;
    begin += strlen(key);
    size_t length = strcspn(begin, "\"");
    if (length >= capacity)
        length = capacity - 1;
    memcpy(into, begin, length);
    into[length] = '\0';
    return true;
}

static bool number_member(const char *json, const char *name, long *into)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *begin = strstr(json, key);
    if (begin == NULL)
        return false;
    *into = strtol(begin + strlen(key), NULL, 10);
    return true;
}

static void say_status(struct fake_answer *answer, int code, const char *reason)
{
    answer->status = code;
    snprintf(answer->body, sizeof answer->body,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"%s\","
             "\"details\":{\"name\":\"l\",\"kind\":\"leases\"},\"code\":%d}\n",
             reason, code);
}

static void say_lease(const struct fake_server *server, struct fake_answer *answer, int code)
{
    answer->status = code;
    char *at = answer->body;
    char *end = answer->body + sizeof answer->body;
    at += snprintf(at, (size_t)(end - at),
                   "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"
                   "\"name\":\"l\",\"namespace\":\"n\",\"uid\":\"%08x-0000-4000-8000-000000000000\","
                   "\"resourceVersion\":\"%u\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
                   "%s%s\"managedFields\":[{\"manager\":\"x\",\"fieldsV1\":{\"f:spec\":{\"f:y\":{}}}}]},"
                   "\"spec\":{\"leaseDurationSeconds\":%ld,\"leaseTransitions\":%ld",
                   server->uid, server->version, server->extra_metadata,
                   server->extra_metadata[0] != '\0' ? "," : "", server->duration,
                   server->transitions);
    if (server->holder[0] != '\0')
        at += snprintf(at, (size_t)(end - at), ",\"holderIdentity\":\"%s\"", server->holder);
    if (server->acquire_time[0] != '\0')
        at += snprintf(at, (size_t)(end - at), ",\"acquireTime\":\"%s\"", server->acquire_time);
    snprintf(at, (size_t)(end - at), ",\"renewTime\":\"%s\"}}\n", server->renew_time);
}

/* Takes over what the body says; the rest stays, as in a merge patch. */
static void store(struct fake_server *server)
{
    text_member(server->body, "holderIdentity", server->holder, sizeof server->holder);
    text_member(server->body, "acquireTime", server->acquire_time, sizeof server->acquire_time);
    text_member(server->body, "renewTime", server->renew_time, sizeof server->renew_time);
    number_member(server->body, "leaseDurationSeconds", &server->duration);
    number_member(server->body, "leaseTransitions", &server->transitions);
    server->version++;
}

void fake_server_answer(struct fake_server *server, struct fake_answer *answer)
{
    char version[40] = "", current[40];
    snprintf(current, sizeof current, "%u", server->version);
    server->requests++;
    if (server->forced_status != 0) {
        answer->status = server->forced_status;
        snprintf(answer->body, sizeof answer->body, "%s", server->forced_body);
    } else if (strcmp(server->method, "POST") == 0) {
        if (server->exists) {
            say_status(answer, 409, "AlreadyExists");
        } else {
            server->exists = true;
            server->uid++;
            store(server);
            say_lease(server, answer, 201);
        }
    } else if (!server->exists) {
        say_status(answer, 404, "NotFound");
    } else if (strcmp(server->method, "GET") == 0) {
        say_lease(server, answer, 200);
    } else if (!text_member(server->body, "resourceVersion", version, sizeof version) ||
               strcmp(version, current) != 0) {
        say_status(answer, 409, "Conflict");
    } else {
        if (strcmp(server->method, "PUT") == 0 &&
            strstr(server->body, server->extra_metadata) == NULL)
            server->extra_metadata[0] = '\0'; /* a PUT without it drops it */
        store(server);
        say_lease(server, answer, 200);
    }
}

/* One part of the request, in pieces, as a small buffer would have it. */
static kl_status read_part(const kl_elector *elector, uint32_t id, uint32_t part, size_t chunk,
                           char *into, size_t length, size_t capacity)
{
    size_t have = 0;
    if (length >= capacity)
        return KL_ERR_ARG;
    for (;;) {
        uint8_t piece[64];
        size_t written = 0;
        size_t room = chunk < sizeof piece ? chunk : sizeof piece;
        kl_status status = kl_elector_request_read(elector, id, part, have, piece, room, &written);
        if (status != KL_OK)
            return status;
        memcpy(into + have, piece, written);
        have += written;
        if (written < room)
            break;
    }
    into[have] = '\0';
    bool same = have == length && pieces_are(elector, id, part, into, have, 1 + chunk % 8);
    return same ? KL_OK : KL_ERR_STALE;
}

kl_status fake_server_exchange(struct fake_server *server, kl_elector *elector, uint32_t id,
                               const kl_now *now, size_t chunk)
{
    static const char date[] = "Thu, 01 Jan 2026 00:00:00 GMT";
    struct fake_answer answer;
    kl_request request = KL_REQUEST_INIT;
    kl_status status = kl_elector_request(elector, id, &request);
    if (status == KL_OK)
        status = read_part(elector, id, KL_PART_TARGET, chunk, server->target, request.target_len,
                           sizeof server->target);
    if (status == KL_OK)
        status = read_part(elector, id, KL_PART_BODY, chunk, server->body, request.body_len,
                           sizeof server->body);
    if (status != KL_OK)
        return status;
    snprintf(server->method, sizeof server->method, "%.*s", (int)request.method_name.len,
             request.method_name.ptr);
    fake_server_answer(server, &answer);
    status = kl_elector_response_begin(elector, id, (uint32_t)answer.status);
    if (status == KL_OK)
        status = kl_elector_response_header(elector, id, KL_STR("Date"),
                                            (kl_str){date, sizeof date - 1});
    for (size_t at = 0, length = strlen(answer.body); at < length && status == KL_OK; at += chunk) {
        size_t count = length - at < chunk ? length - at : chunk;
        /* An exact copy on the heap: one byte read too far is seen by the sanitizers. */
        uint8_t *copy = malloc(count);
        if (copy == NULL)
            return KL_ERR_ARG;
        memcpy(copy, answer.body + at, count);
        status = kl_elector_response_body(elector, id, copy, count);
        free(copy);
    }
    return status == KL_OK ? kl_elector_response_end(elector, id, now) : status;
}
