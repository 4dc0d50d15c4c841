#define _GNU_SOURCE
#include "curl_transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway.h"

/* Requests and answers are the same for both kinds of object. */
#define CALL(transport, call, ...)                                              \
    ((transport)->elector != NULL                                               \
         ? kl_elector_##call((transport)->elector, __VA_ARGS__)                 \
         : kl_heartbeat_##call((transport)->heartbeat, __VA_ARGS__))

/* curl hands over each line of the head, the status line first. */
static size_t on_header(char *line, size_t size, size_t count, void *user)
{
    struct curl_transport *transport = user;
    size_t length = size * count;
    const char *end = line + length, *colon = memchr(line, ':', length);
    if (length > 12 && memcmp(line, "HTTP/", 5) == 0) {
        long status = 0;
        curl_easy_getinfo(transport->easy, CURLINFO_RESPONSE_CODE, &status);
        CALL(transport, response_begin, transport->in_flight, (uint32_t)status);
    } else if (colon != NULL) {
        kl_str name = {line, (size_t)(colon - line)};
        kl_str value = {colon + 1, (size_t)(end - colon) - 1};
        CALL(transport, response_header, transport->in_flight, name, value);
    }
    return length;
}

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
    struct curl_transport *transport = user;
    CALL(transport, response_body, transport->in_flight, (const uint8_t *)data, size * count);
    return size * count;
}

/* curl takes the body in pieces of its own size, for which there is no buffer here. */
static size_t on_read(char *into, size_t size, size_t count, void *user)
{
    struct curl_transport *transport = user;
    size_t written = 0;
    if (CALL(transport, request_read, transport->in_flight, KL_PART_BODY, transport->body_read,
             (uint8_t *)into, size * count, &written) != KL_OK)
        return CURL_READFUNC_ABORT;
    transport->body_read += written;
    return written;
}

/* Where a kept connection turns out to be dead, the request goes over another, from its start. */
static int on_seek(void *user, curl_off_t offset, int origin)
{
    struct curl_transport *transport = user;
    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    transport->body_read = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static void add_header(struct curl_transport *transport, const char *name, kl_str value)
{
    static char line[8192];
    snprintf(line, sizeof line, "%s: %.*s", name, (int)value.len, value.ptr);
    transport->headers = curl_slist_append(transport->headers, line);
}

static void set_headers(struct curl_transport *transport, const kl_request *request)
{
    static char bearer[7100] = "Bearer ";
    enum { WORD = sizeof "Bearer " - 1 };
    curl_slist_free_all(transport->headers);
    transport->headers = NULL;
    add_header(transport, "Accept", request->accept);
    if (request->body_len != 0)
        add_header(transport, "Content-Type", request->content_type);
    add_header(transport, "Expect", gateway_text("")); /* no waiting for leave to send a body */
    if (gateway_read_line(transport->token_file, bearer + WORD, sizeof bearer - WORD))
        add_header(transport, "Authorization", gateway_text(bearer));
    curl_easy_setopt(transport->easy, CURLOPT_HTTPHEADER, transport->headers);
}

static void set_options(struct curl_transport *transport, uint64_t length_ms)
{
    CURL *easy = transport->easy;
    curl_easy_reset(easy); /* keeps the connection */
    curl_easy_setopt(easy, CURLOPT_USERAGENT, transport->user_agent);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transport);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transport);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, length_ms > 0 ? (long)length_ms : 1L);
    /* Outside of a pod the platform's authorities do; one that was asked for is not left out. */
    if (strcmp(transport->ca_file, GATEWAY_ACCOUNT "ca.crt") != 0 ||
        access(transport->ca_file, R_OK) == 0)
        curl_easy_setopt(easy, CURLOPT_CAINFO, transport->ca_file);
}

static void set_body(struct curl_transport *transport, const kl_request *request)
{
    static char method[8];
    snprintf(method, sizeof method, "%.*s", (int)request->method_name.len,
             request->method_name.ptr);
    transport->body_read = 0;
    curl_easy_setopt(transport->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(transport->easy, CURLOPT_POSTFIELDSIZE, (long)request->body_len);
    curl_easy_setopt(transport->easy, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(transport->easy, CURLOPT_READDATA, transport);
    curl_easy_setopt(transport->easy, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(transport->easy, CURLOPT_SEEKDATA, transport);
    curl_easy_setopt(transport->easy, CURLOPT_CUSTOMREQUEST, method);
}

void curl_transport_send(struct curl_transport *transport, uint32_t id, uint64_t deadline_ms)
{
    static char url[1024];
    size_t base = (size_t)snprintf(url, sizeof url, "%s", transport->server), target_len;
    kl_request request = KL_REQUEST_INIT;
    kl_now now = gateway_now();
    if (CALL(transport, request, id, &request) != KL_OK ||
        base + request.target_len >= sizeof url ||
        (transport->easy == NULL && (transport->easy = curl_easy_init()) == NULL)) {
        CALL(transport, transport_error, id, KL_TRANSPORT_NOT_SENT, &now);
        return;
    }
    CALL(transport, request_read, id, KL_PART_TARGET, 0, (uint8_t *)url + base,
         sizeof url - base - 1, &target_len);
    url[base + target_len] = '\0';
    set_options(transport, deadline_ms > now.mono_ms ? deadline_ms - now.mono_ms : 0);
    set_headers(transport, &request);
    curl_easy_setopt(transport->easy, CURLOPT_URL, url);
    if (request.body_len != 0)
        set_body(transport, &request);
    transport->in_flight = id;
    curl_multi_add_handle(transport->multi, transport->easy);
}

void curl_transport_drop(struct curl_transport *transport)
{
    if (transport->in_flight != 0)
        curl_multi_remove_handle(transport->multi, transport->easy);
    curl_easy_cleanup(transport->easy);
    transport->easy = NULL;
    transport->in_flight = 0;
}

/* Tells the object how its request ended. */
static void finish(struct curl_transport *transport, CURLcode result)
{
    uint32_t id = transport->in_flight;
    kl_now now = gateway_now();
    if (result == CURLE_OK) {
        curl_multi_remove_handle(transport->multi, transport->easy);
        transport->in_flight = 0;
        CALL(transport, response_end, id, &now);
        return;
    }
    gateway_say("%s", curl_easy_strerror(result));
    curl_transport_drop(transport);
    bool not_sent = result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_CONNECT ||
                    result == CURLE_SSL_CONNECT_ERROR || result == CURLE_SSL_CACERT_BADFILE ||
                    result == CURLE_PEER_FAILED_VERIFICATION;
    CALL(transport, transport_error, id, not_sent ? KL_TRANSPORT_NOT_SENT : KL_TRANSPORT_UNKNOWN,
         &now);
}

bool curl_transport_open(struct curl_transport *transport)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == 0 &&
           (transport->multi = curl_multi_init()) != NULL;
}

void curl_transport_run(struct curl_transport *transport, int wait_ms)
{
    int running, left;
    curl_multi_perform(transport->multi, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(transport->multi, &left)) != NULL;)
        if (message->msg == CURLMSG_DONE) {
            finish(transport, message->data.result);
            wait_ms = 0;
        }
    if (wait_ms > 0)
        curl_multi_poll(transport->multi, NULL, 0, wait_ms, NULL);
}

void curl_transport_close(struct curl_transport *transport)
{
    curl_transport_drop(transport);
    curl_slist_free_all(transport->headers);
    curl_multi_cleanup(transport->multi);
    curl_global_cleanup();
}
