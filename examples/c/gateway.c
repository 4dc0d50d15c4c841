#define _GNU_SOURCE
#include "gateway.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *gateway_name = "gateway";

static volatile sig_atomic_t asked_to_stop;

kl_now gateway_now(void)
{
    struct timespec mono, wall;
    clock_gettime(CLOCK_BOOTTIME, &mono);
    clock_gettime(CLOCK_REALTIME, &wall);
    return (kl_now){.mono_ms = (uint64_t)mono.tv_sec * 1000 + (uint64_t)mono.tv_nsec / 1000000,
                    .unix_us = (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000};
}

int gateway_wait_ms(uint64_t deadline_ms, uint64_t now_ms, int most_ms)
{
    if (deadline_ms <= now_ms)
        return 0;
    return deadline_ms - now_ms < (uint64_t)most_ms ? (int)(deadline_ms - now_ms) : most_ms;
}

void gateway_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", gateway_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

bool gateway_read_line(const char *path, char *into, size_t capacity)
{
    FILE *file = fopen(path, "r");
    bool found = file != NULL && fgets(into, (int)capacity, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (found)
        into[strcspn(into, "\r\n")] = '\0';
    return found;
}

static void on_signal(int number)
{
    (void)number;
    asked_to_stop = 1;
}

void gateway_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

bool gateway_asked_to_stop(void)
{
    bool asked = asked_to_stop != 0;
    asked_to_stop = 0;
    return asked;
}

const char *gateway_pod_server(void)
{
    static char server[300];
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    if (host == NULL || port == NULL)
        return NULL;
    /* An address of IPv6 stands in brackets. */
    snprintf(server, sizeof server, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host,
             port);
    return server;
}

const char *gateway_pod_namespace(void)
{
    static char name[64];
    return gateway_read_line(GATEWAY_ACCOUNT "namespace", name, sizeof name) ? name : NULL;
}

const char *gateway_host(void)
{
    static char name[256];
    return gethostname(name, sizeof name - 1) == 0 ? name : NULL;
}

int gateway_parse(int count, char **arguments, const struct gateway_option *options,
                  size_t option_count)
{
    int at = 1;
    for (; at < count && strncmp(arguments[at], "--", 2) == 0; at += 2) {
        size_t i = 0;
        while (i < option_count && strcmp(arguments[at], options[i].name) != 0)
            i++;
        if (i == option_count || at + 1 == count)
            return -1;
        *options[i].value = arguments[at + 1];
    }
    return at;
}

kl_str gateway_text(const char *text)
{
    return (kl_str){text, text == NULL ? 0 : strlen(text)};
}

bool gateway_number(uint32_t *into, const char *text)
{
    if (text == NULL)
        return true;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (strspn(text, "0123456789") == 0 || *end != '\0' || errno != 0 || number > UINT32_MAX) {
        gateway_say("expected a number up to %" PRIu32 ", found \"%s\"", UINT32_MAX, text);
        return false;
    }
    *into = (uint32_t)number;
    return true;
}

bool gateway_readable(const char *path, const char *fallback)
{
    if (strcmp(path, fallback) == 0 || access(path, R_OK) == 0)
        return true;
    gateway_say("cannot read %s: %s", path, strerror(errno));
    return false;
}
