/* What the gateways here share beside their transport: clocks, signals, words, the command line. */
#ifndef GATEWAY_H
#define GATEWAY_H

#include <stdbool.h>
#include <stddef.h>

#include <kubelease.h>

/* Where a pod finds its token and the authority of its API server. */
#define GATEWAY_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

/* An option of the command line: `--name VALUE`. */
struct gateway_option {
    const char *name;
    const char **value;
};

/* Who speaks, before each line of gateway_say. */
extern const char *gateway_name;

/* A monotonic clock that goes on in suspend, and the civil one. */
kl_now gateway_now(void);

/* How long it is to a deadline: from 0 to most_ms. */
int gateway_wait_ms(uint64_t deadline_ms, uint64_t now_ms, int most_ms);

/* A line on the standard error. */
void gateway_say(const char *format, ...);

/* The first line of a small file; false where there is none. */
bool gateway_read_line(const char *path, char *into, size_t capacity);

/* From now on SIGTERM and SIGINT are what gateway_asked_to_stop tells of, once each. */
void gateway_catch_signals(void);
bool gateway_asked_to_stop(void);

/* A pod's own API server and namespace, and the name of the host; NULL where there is none. */
const char *gateway_pod_server(void);
const char *gateway_pod_namespace(void);
const char *gateway_host(void);

/* Fills `options` in; the place of the first argument that is none, or -1 where one is unknown. */
int gateway_parse(int count, char **arguments, const struct gateway_option *options,
                  size_t option_count);

kl_str gateway_text(const char *text);

/* A number of the command line, where it is there; says so and is false where it is none. */
bool gateway_number(uint32_t *into, const char *text);

/* Whether a file of the command line can be read; says so where not. `fallback` may be missing. */
bool gateway_readable(const char *path, const char *fallback);

#endif
