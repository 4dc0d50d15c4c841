/* HTTP for one elector or heartbeat, over libcurl: one connection, which is kept for as long as it
 * works, and one request at a time, beside whatever else the program waits for. */
#ifndef CURL_TRANSPORT_H
#define CURL_TRANSPORT_H

#include <stdbool.h>

#include <curl/curl.h>
#include <kubelease.h>

struct curl_transport {
    /* Whose requests these are: one of the two. */
    kl_elector *elector;
    kl_heartbeat *heartbeat;
    /* The API server's URL without a path. */
    const char *server;
    /* Read anew for each request, as tokens rotate; without the file no token is sent. */
    const char *token_file;
    /* Who vouches for the server; without the file, the system's authorities. */
    const char *ca_file;
    const char *user_agent;
    /* The transport's own; NULL and 0 at first. */
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    uint32_t in_flight;
    size_t body_read;
};

/* Once, before all else; false where there is no memory. */
bool curl_transport_open(struct curl_transport *transport);

/* For KL_ACTION_SEND. Where the request cannot even be begun, its object is told so. */
void curl_transport_send(struct curl_transport *transport, uint32_t id, uint64_t deadline_ms);

/* For KL_ACTION_CANCEL, and where the connection is not trusted any more. */
void curl_transport_drop(struct curl_transport *transport);

/* Moves what is in flight on and waits for it, for wait_ms at most. What comes goes to the object:
 * poll it then. */
void curl_transport_run(struct curl_transport *transport, int wait_ms);

void curl_transport_close(struct curl_transport *transport);

#endif
