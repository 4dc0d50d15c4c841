/* An API server with one Lease, for tests. It knows the bodies that the library writes. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kubelease.h>

struct fake_server {
    bool exists;
    unsigned version, uid;
    char holder[300], acquire_time[40], renew_time[40];
    long duration, transitions;
    /* Members of metadata beside our own, such as "labels":{..}, as they came last. */
    char extra_metadata[400];
    /* What to answer instead: a status code, with this body. */
    int forced_status;
    const char *forced_body;
    /* What was asked last. */
    char method[8], target[400], body[1200];
    unsigned requests;
};

struct fake_answer {
    int status;
    char body[2400];
};

/* Carries out the request that is in method, target and body. */
void fake_server_answer(struct fake_server *server, struct fake_answer *answer);

/* Reads request id in pieces of `chunk` bytes, has it carried out, feeds the answer in pieces of
   `chunk` bytes. Returns the first status that is not KL_OK. */
kl_status fake_server_exchange(struct fake_server *server, kl_elector *elector, uint32_t id,
                               const kl_now *now, size_t chunk);

#endif
