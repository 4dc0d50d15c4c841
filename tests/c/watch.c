/* Watch mode through the C interface: a stream in single bytes, and what follows from it. */
#include "check.h"
#include "fake_server.h"

#include <string.h>

static kl_now at(uint64_t ms)
{
    kl_now now = {ms, (int64_t)1767225600000000 + (int64_t)ms * 1000};
    return now;
}

/* The lease as somebody else holds it, in version 5. */
static struct fake_server server_of_another(void)
{
    struct fake_server server;
    memset(&server, 0, sizeof server);
    server.exists = true;
    server.uid = 1;
    server.version = 5;
    server.duration = 15;
    strcpy(server.holder, "bob");
    strcpy(server.renew_time, "2026-01-01T00:00:00.000000Z");
    return server;
}

/* Polls until there is a request, or nothing to do; counts the cancels on the way. */
static kl_action next(kl_elector *elector, uint64_t ms, int *cancels)
{
    kl_now now = at(ms);
    for (;;) {
        kl_action action = KL_ACTION_INIT;
        kl_elector_poll(elector, &now, &action);
        if (action.kind == KL_ACTION_CANCEL)
            ++*cancels;
        else if (action.kind != KL_ACTION_EVENT)
            return action;
    }
}

/* A candidate whose watch is in flight under *id, with its answer begun. */
static int watching(kl_elector *elector, struct fake_server *server, uint32_t *id)
{
    static const char watch[] =
        "/apis/coordination.k8s.io/v1/namespaces/n/leases?watch=1&fieldSelector=metadata.name%3Dl"
        "&resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds=";
    char target[300] = "";
    size_t length = 0;
    int cancels = 0;
    kl_now now = at(0);
    kl_elector_config config;
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = KL_STR("n");
    config.name = KL_STR("l");
    config.identity = KL_STR("ada");
    CHECK_INT(kl_elector_init(elector, sizeof *elector, &config, &now), KL_OK);
    CHECK_INT(kl_elector_watch(elector), KL_OK);
    kl_action action = next(elector, 0, &cancels);
    CHECK_INT(action.kind, KL_ACTION_SEND);
    CHECK_INT(fake_server_exchange(server, elector, action.request_id, &now, 7), KL_OK);
    action = next(elector, 0, &cancels);
    CHECK_INT(action.kind, KL_ACTION_SEND);
    *id = action.request_id;
    CHECK_INT(kl_elector_request_read(elector, *id, KL_PART_TARGET, 0, (uint8_t *)target,
                                      sizeof target - 1, &length),
              KL_OK);
    CHECK(strncmp(target, watch, sizeof watch - 1) == 0);
    CHECK_INT(kl_elector_response_begin(elector, *id, 200), KL_OK);
    CHECK_INT(next(elector, 0, &cancels).kind, KL_ACTION_WAIT);
    CHECK_INT(cancels, 0);
    return 1;
}

/* Feeds `text` in single bytes; the status of the last. */
static kl_status feed(kl_elector *elector, uint32_t id, const char *text, uint64_t ms)
{
    kl_now now = at(ms);
    kl_status status = KL_OK;
    for (; *text != '\0' && status == KL_OK; text++)
        status = kl_elector_response_body_at(elector, id, (const uint8_t *)text, 1, &now);
    return status;
}

static const char RELEASE[] =
    "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Lease\",\"metadata\":{\"uid\":"
    "\"00000001-0000-4000-8000-000000000000\",\"resourceVersion\":\"6\"},\"spec\":{"
    "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,\"leaseTransitions\":3}}}\n";

static int a_release_is_taken_over_at_once(void)
{
    kl_elector elector;
    struct fake_server server = server_of_another();
    uint32_t id = 0;
    int cancels = 0;
    CHECK(watching(&elector, &server, &id));
    server.version = 6;
    server.holder[0] = '\0';
    CHECK_INT(feed(&elector, id, RELEASE, 5000), KL_OK);
    kl_now now = at(5000);
    kl_action action = next(&elector, 5000, &cancels);
    CHECK_INT(cancels, 1);
    CHECK_INT(action.kind, KL_ACTION_SEND);
    CHECK_INT(fake_server_exchange(&server, &elector, action.request_id, &now, 7), KL_OK);
    CHECK_INT(next(&elector, 5000, &cancels).kind, KL_ACTION_WAIT);
    CHECK(kl_elector_is_leading(&elector, 5000));
    CHECK(strcmp(server.holder, "ada") == 0);
    /* What still comes of the stream is refused. */
    CHECK_INT(feed(&elector, id, "\n", 5001), KL_ERR_STALE);
    return 1;
}

static int each_line_puts_the_deadline_off(void)
{
    kl_elector elector;
    struct fake_server server = server_of_another();
    uint32_t id = 0;
    int cancels = 0;
    CHECK(watching(&elector, &server, &id));
    CHECK_INT(next(&elector, 0, &cancels).deadline_ms, 7500);
    CHECK_INT(feed(&elector, id,
                   "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n",
                   4000),
              KL_OK);
    CHECK_INT(next(&elector, 4000, &cancels).deadline_ms, 11500);
    CHECK_INT(cancels, 0);
    /* The silence is too long: the lease is read. */
    CHECK_INT(next(&elector, 11500, &cancels).kind, KL_ACTION_SEND);
    CHECK_INT(cancels, 1);
    return 1;
}

static int the_end_of_a_stream_and_an_error_in_it_are_followed_by_a_look(void)
{
    static const char expired[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";
    for (int error = 0; error < 2; error++) {
        kl_elector elector;
        struct fake_server server = server_of_another();
        uint32_t id = 0;
        int cancels = 0;
        kl_now now = at(5000);
        CHECK(watching(&elector, &server, &id));
        if (error)
            feed(&elector, id, expired, 5000);
        else
            CHECK_INT(kl_elector_response_end(&elector, id, &now), KL_OK);
        kl_action action = next(&elector, 5000, &cancels);
        CHECK_INT(action.kind, KL_ACTION_SEND);
        CHECK_INT(cancels, error);
        CHECK_INT(fake_server_exchange(&server, &elector, action.request_id, &now, 7), KL_OK);
        CHECK(strstr(server.target, "/leases/l?") != NULL);
    }
    return 1;
}

static int arguments_are_checked(void)
{
    kl_elector elector, zeroed;
    struct fake_server server = server_of_another();
    uint32_t id = 0;
    uint8_t byte = '{';
    kl_now now = at(0);
    memset(&zeroed, 0, sizeof zeroed);
    CHECK_INT(kl_elector_watch(NULL), KL_ERR_ARG);
    CHECK_INT(kl_elector_watch(&zeroed), KL_ERR_NOT_INIT);
    CHECK_INT(kl_elector_response_body_at(NULL, 1, &byte, 1, &now), KL_ERR_ARG);
    CHECK_INT(kl_elector_response_body_at(&zeroed, 1, &byte, 1, &now), KL_ERR_NOT_INIT);
    CHECK(watching(&elector, &server, &id));
    CHECK_INT(kl_elector_response_body_at(&elector, id, NULL, 1, &now), KL_ERR_ARG);
    CHECK_INT(kl_elector_response_body_at(&elector, id, &byte, 1, NULL), KL_ERR_ARG);
    CHECK_INT(kl_elector_response_body_at(&elector, id + 1, &byte, 1, &now), KL_ERR_STALE);
    CHECK_INT(kl_elector_response_body_at(&elector, id, NULL, 0, &now), KL_OK);
    return 1;
}

static int without_the_right_it_says_so(void)
{
    kl_elector elector;
    struct fake_server server = server_of_another();
    bool told = false;
    uint64_t ms = 0;
    kl_elector_config config;
    kl_now now = at(0);
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = KL_STR("n");
    config.name = KL_STR("l");
    config.identity = KL_STR("ada");
    CHECK_INT(kl_elector_init(&elector, sizeof elector, &config, &now), KL_OK);
    CHECK_INT(kl_elector_watch(&elector), KL_OK);
    while (ms < 12000 && !told) {
        kl_action action = KL_ACTION_INIT;
        kl_request request = KL_REQUEST_INIT;
        now = at(ms);
        CHECK_INT(kl_elector_poll(&elector, &now, &action), KL_OK);
        told = action.kind == KL_ACTION_EVENT && action.event == KL_EVENT_TROUBLE &&
               action.verb == KL_VERB_WATCH && action.reason == KL_TROUBLE_FORBIDDEN;
        if (action.kind == KL_ACTION_WAIT)
            ms = action.deadline_ms;
        if (action.kind != KL_ACTION_SEND)
            continue;
        CHECK_INT(kl_elector_request(&elector, action.request_id, &request), KL_OK);
        char target[300] = "";
        size_t length = 0;
        kl_elector_request_read(&elector, action.request_id, KL_PART_TARGET, 0, (uint8_t *)target,
                                sizeof target - 1, &length);
        server.forced_status = strstr(target, "watch=1") != NULL ? 403 : 0;
        server.forced_body = "{\"kind\":\"Status\",\"code\":403}";
        CHECK_INT(fake_server_exchange(&server, &elector, action.request_id, &now, 7), KL_OK);
    }
    CHECK(told);
    return 1;
}

int main(void)
{
    static const struct test tests[] = {
        {"a release is taken over at once", a_release_is_taken_over_at_once},
        {"each line puts the deadline off", each_line_puts_the_deadline_off},
        {"the end of a stream and an error in it are followed by a look",
         the_end_of_a_stream_and_an_error_in_it_are_followed_by_a_look},
        {"arguments are checked", arguments_are_checked},
        {"without the right it says so", without_the_right_it_says_so},
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}
