/* Whole elections through the C interface, against a server in C. */
#include "check.h"
#include "fake_server.h"

#include <string.h>

/* What one elector did: the events in order, and when it wants to be asked again. */
struct candidate {
    kl_elector elector;
    uint32_t events[64], reasons[64];
    size_t event_count;
    uint64_t due_ms;
    bool stopped, move;
    size_t chunk;
    kl_action last;
};

static kl_now at(uint64_t ms)
{
    kl_now now = {ms, (int64_t)1767225600000000 + (int64_t)ms * 1000};
    return now;
}

static bool begin(struct candidate *who, const char *identity, uint64_t ms,
                  void (*adjust)(kl_elector_config *))
{
    kl_elector_config config;
    kl_now now = at(ms);
    memset(who, 0, sizeof *who);
    who->chunk = 4096;
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = KL_STR("n");
    config.name = KL_STR("l");
    config.identity.ptr = identity;
    config.identity.len = strlen(identity);
    config.seed = (uint64_t)identity[0];
    if (adjust != NULL)
        adjust(&config);
    return kl_elector_init(&who->elector, sizeof who->elector, &config, &now) == KL_OK;
}

/* Does all that the candidate wants at `ms`. A server of NULL is one that cannot be reached. */
static int turn(struct candidate *who, struct fake_server *server, uint64_t ms)
{
    kl_now now = at(ms);
    for (int polls = 0; polls < 64; polls++) {
        kl_action action = KL_ACTION_INIT;
        if (who->move) {
            /* An object may be moved between two calls; what it leaves is written over. */
            kl_elector elsewhere;
            memcpy(&elsewhere, &who->elector, sizeof elsewhere);
            memset(&who->elector, 0xa5, sizeof who->elector);
            memcpy(&who->elector, &elsewhere, sizeof elsewhere);
        }
        CHECK_INT(kl_elector_poll(&who->elector, &now, &action), KL_OK);
        who->last = action;
        switch (action.kind) {
        case KL_ACTION_EVENT:
            CHECK(who->event_count < 64);
            who->events[who->event_count] = action.event;
            who->reasons[who->event_count++] = action.reason;
            break;
        case KL_ACTION_SEND:
            CHECK(action.request_id != 0);
            if (server == NULL)
                CHECK_INT(kl_elector_transport_error(&who->elector, action.request_id,
                                                     KL_TRANSPORT_UNKNOWN, &now),
                          KL_OK);
            else
                CHECK_INT(fake_server_exchange(server, &who->elector, action.request_id, &now,
                                               who->chunk),
                          KL_OK);
            break;
        case KL_ACTION_CANCEL:
            break;
        case KL_ACTION_WAIT:
            CHECK(action.deadline_ms > ms);
            who->due_ms = action.deadline_ms;
            return 1;
        case KL_ACTION_STOPPED:
            who->due_ms = UINT64_MAX;
            who->stopped = true;
            return 1;
        default:
            CHECK(action.kind == KL_ACTION_WAIT);
        }
    }
    CHECK_INT(who->last.kind, KL_ACTION_WAIT);
    return 0;
}

/* Lets one candidate run until `end_ms`. */
static int run(struct candidate *who, struct fake_server *server, uint64_t begin_ms,
               uint64_t end_ms)
{
    for (uint64_t ms = begin_ms; ms <= end_ms; ms = who->due_ms)
        if (!turn(who, server, ms))
            return 0;
    return 1;
}

static int a_candidate_leads_renews_and_gives_up(void)
{
    struct fake_server server = {0};
    struct candidate ada;
    kl_fence fence;
    kl_str leader;
    kl_health health = KL_HEALTH_INIT;
    kl_now now = at(30000);
    CHECK(begin(&ada, "ada", 0, NULL));
    CHECK(run(&ada, &server, 0, 30000));
    CHECK_INT(ada.event_count, 1);
    CHECK_INT(ada.events[0], KL_EVENT_STARTED_LEADING);
    CHECK(kl_elector_is_leading(&ada.elector, 30000));
    CHECK_INT(kl_elector_term(&ada.elector), 1);
    CHECK(strcmp(server.holder, "ada") == 0);
    CHECK(strcmp(server.method, "PATCH") == 0);
    CHECK(server.version >= 15);
    CHECK(kl_elector_leading_until(&ada.elector) > 38000);
    CHECK(!kl_elector_is_leading(&ada.elector, kl_elector_leading_until(&ada.elector)));
    CHECK_INT(kl_elector_leader(&ada.elector, &leader), KL_OK);
    CHECK(leader.len == 3 && memcmp(leader.ptr, "ada", 3) == 0);
    CHECK_INT(kl_elector_fence(&ada.elector, &fence), KL_OK);
    CHECK_INT(kl_fence_token(&fence), 1);
    CHECK_INT(fence.lease_uid_len, 36);
    CHECK(memcmp(fence.lease_uid, "00000001-0000", 13) == 0 && fence.lease_uid[39] == 0);
    CHECK_INT(kl_elector_health(&ada.elector, 30500, &health), KL_OK);
    CHECK_INT(health.state, KL_HEALTH_OK);
    CHECK_INT(health.last_http_status, 200);
    CHECK(health.ms_since_answer < 3000);
    CHECK_INT(kl_elector_stop(&ada.elector, &now), KL_OK);
    CHECK(turn(&ada, &server, 30000));
    CHECK(ada.stopped);
    CHECK_INT(ada.events[1], KL_EVENT_STOPPED_LEADING);
    CHECK_INT(ada.reasons[1], KL_STOP_STOPPED);
    CHECK_INT(ada.events[2], KL_EVENT_FINISHED);
    CHECK_INT(ada.reasons[2], KL_FINISH_RELEASED);
    CHECK_INT(server.holder[0], 0);
    CHECK_INT(server.duration, 1);
    CHECK_INT(kl_elector_fence(&ada.elector, &fence), KL_ERR_NOT_LEADING);
    return 1;
}

/* Two candidates, one server; ada falls silent at 20 s. Returns in `record` all that happened. */
static int failover(size_t chunk, bool move, char *record, size_t capacity)
{
    struct fake_server server = {0};
    struct candidate who[2];
    size_t used = 0;
    CHECK(begin(&who[0], "ada", 0, NULL) && begin(&who[1], "bob", 0, NULL));
    for (int i = 0; i < 2; i++) {
        who[i].chunk = chunk;
        who[i].move = move;
    }
    for (uint64_t ms = 0; ms < 60000;) {
        for (int i = 0; i < 2; i++) {
            if (who[i].due_ms > ms)
                continue;
            if (i == 0 && ms >= 20000) {
                who[i].due_ms = UINT64_MAX;
                continue;
            }
            CHECK(turn(&who[i], &server, ms));
            used += (size_t)snprintf(record + used, capacity - used, "%d@%u/%s ", i,
                                     (unsigned)ms, server.method);
            CHECK(used < capacity);
        }
        CHECK(!kl_elector_is_leading(&who[0].elector, ms) ||
              !kl_elector_is_leading(&who[1].elector, ms));
        ms = who[0].due_ms < who[1].due_ms ? who[0].due_ms : who[1].due_ms;
    }
    CHECK(strcmp(server.holder, "bob") == 0);
    CHECK_INT(server.transitions, 1);
    CHECK(!kl_elector_is_leading(&who[0].elector, 60000));
    CHECK(kl_elector_leading_until(&who[1].elector) > 60000);
    CHECK_INT(who[1].events[0], KL_EVENT_LEADER_CHANGED);
    CHECK_INT(who[1].events[1], KL_EVENT_STARTED_LEADING);
    return 1;
}

static int every_split_and_every_place_in_memory_gives_the_same_election(void)
{
    static char whole[8000], other[8000];
    static const size_t chunks[] = {1, 2, 3, 7, 64};
    CHECK(failover(4096, false, whole, sizeof whole));
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        CHECK(failover(chunks[i], i % 2 == 0, other, sizeof other));
        CHECK(strcmp(whole, other) == 0);
    }
    return 1;
}

static int a_leader_without_a_server_ends_by_itself(void)
{
    struct fake_server server = {0};
    struct candidate ada;
    CHECK(begin(&ada, "ada", 0, NULL));
    CHECK(run(&ada, &server, 0, 10000));
    uint64_t until = kl_elector_leading_until(&ada.elector);
    CHECK(run(&ada, NULL, ada.due_ms, 30000));
    CHECK(!kl_elector_is_leading(&ada.elector, until));
    CHECK_INT(ada.events[ada.event_count - 1], KL_EVENT_RECONNECT_ADVISED);
    bool found = false;
    for (size_t i = 0; i < ada.event_count; i++)
        found = found || (ada.events[i] == KL_EVENT_STOPPED_LEADING &&
                          ada.reasons[i] == KL_STOP_DEADLINE);
    CHECK(found);
    kl_health health = KL_HEALTH_INIT;
    CHECK_INT(kl_elector_health(&ada.elector, 30000, &health), KL_OK);
    CHECK(health.failures >= 2);
    CHECK_INT(health.last_transport_error, KL_TRANSPORT_UNKNOWN);
    return 1;
}

static int a_late_answer_is_stale_and_harmless(void)
{
    struct fake_server server = {0};
    struct candidate ada;
    kl_action action = KL_ACTION_INIT;
    CHECK(begin(&ada, "ada", 0, NULL));
    CHECK(run(&ada, &server, 0, 10000));
    uint64_t until = kl_elector_leading_until(&ada.elector);
    kl_now sent = at(ada.due_ms), late = at(until + 1000);
    CHECK_INT(kl_elector_poll(&ada.elector, &sent, &action), KL_OK);
    CHECK_INT(action.kind, KL_ACTION_SEND);
    CHECK_INT(kl_elector_response_begin(&ada.elector, action.request_id, 200), KL_OK);
    kl_request request = KL_REQUEST_INIT;
    CHECK_INT(kl_elector_response_end(&ada.elector, action.request_id, &late), KL_ERR_STALE);
    CHECK_INT(kl_elector_request(&ada.elector, action.request_id, &request), KL_ERR_STALE);
    CHECK(!kl_elector_is_leading(&ada.elector, until));
    uint32_t old = action.request_id;
    CHECK_INT(kl_elector_poll(&ada.elector, &late, &action), KL_OK);
    CHECK_INT(action.event, KL_EVENT_STOPPED_LEADING);
    CHECK_INT(action.must_cease_by_ms, until + 2500);
    CHECK_INT(kl_elector_poll(&ada.elector, &late, &action), KL_OK);
    CHECK_INT(action.kind, KL_ACTION_CANCEL);
    CHECK_INT(action.request_id, old);
    return 1;
}

static uint8_t keep_buffer[1024];

static void with_update(kl_elector_config *config)
{
    config->write = KL_WRITE_UPDATE;
    config->keep = keep_buffer;
    config->keep_len = sizeof keep_buffer;
}

static void with_tiny_update(kl_elector_config *config)
{
    with_update(config);
    config->keep_len = 4;
}

static void with_tiny_update_or_patch(kl_elector_config *config)
{
    with_tiny_update(config);
    config->flags |= KL_CONFIG_PATCH_WHEN_TOO_LARGE;
}

static const char LABELS[] = "\"labels\":{\"team\":\"a\"}";

/* A Lease of somebody who has given it up, with labels that nobody here knows. */
static struct fake_server released_lease(void)
{
    struct fake_server server = {0};
    server.exists = true;
    server.uid = server.version = 7;
    server.duration = 1;
    strcpy(server.renew_time, "2026-01-01T00:00:00.000000Z");
    strcpy(server.extra_metadata, LABELS);
    return server;
}

static int an_update_keeps_what_others_wrote(void)
{
    struct fake_server server = released_lease();
    struct candidate ada;
    CHECK(begin(&ada, "ada", 0, with_update));
    ada.chunk = 1;
    CHECK(run(&ada, &server, 0, 20000));
    CHECK(kl_elector_is_leading(&ada.elector, 20000));
    CHECK(strcmp(server.method, "PUT") == 0);
    CHECK(strstr(server.body, "\"labels\":{\"team\":\"a\"}") != NULL);
    CHECK(strstr(server.target, "?fieldManager=kubelease&timeout=") != NULL);
    return 1;
}

static int an_update_that_does_not_fit_is_no_lossy_write(void)
{
    struct fake_server server = released_lease();
    struct candidate ada;
    CHECK(begin(&ada, "ada", 0, with_tiny_update));
    CHECK(run(&ada, &server, 0, 20000));
    CHECK(!kl_elector_is_leading(&ada.elector, 20000));
    CHECK_INT(ada.events[0], KL_EVENT_TROUBLE);
    CHECK_INT(ada.reasons[0], KL_TROUBLE_TOO_LARGE);
    CHECK_INT(server.version, 7);
    CHECK(begin(&ada, "ada", 0, with_tiny_update_or_patch));
    CHECK(run(&ada, &server, 0, 20000));
    CHECK(kl_elector_is_leading(&ada.elector, 20000));
    CHECK(strcmp(server.method, "PATCH") == 0);
    return 1;
}

static void with_label(kl_elector_config *config)
{
    static kl_label label;
    kl_label_init(&label, KL_STR("example.com/zone"), KL_STR("eu"));
    config->labels = &label;
    config->label_count = 1;
}

static int labels_of_our_own_are_asserted_when_it_acquires(void)
{
    struct fake_server server = {0};
    struct candidate ada;
    CHECK(begin(&ada, "ada", 0, with_label));
    ada.move = true;
    CHECK(run(&ada, &server, 0, 0));
    CHECK(strcmp(server.method, "POST") == 0);
    CHECK(strstr(server.body, "\"labels\":{\"example.com/zone\":\"eu\"}") != NULL);
    return 1;
}

static int step_down_rests_and_comes_back(void)
{
    struct fake_server server = {0};
    struct candidate ada;
    kl_now now = at(10000);
    CHECK(begin(&ada, "ada", 0, NULL));
    CHECK(run(&ada, &server, 0, 9999));
    CHECK_INT(kl_elector_step_down(&ada.elector, &now, 5000), KL_OK);
    CHECK(run(&ada, &server, 10000, 14999));
    CHECK_INT(server.holder[0], 0);
    CHECK(!kl_elector_is_leading(&ada.elector, 14999));
    CHECK(run(&ada, &server, ada.due_ms, 16000));
    CHECK(kl_elector_is_leading(&ada.elector, 16000));
    CHECK_INT(ada.last.kind, KL_ACTION_WAIT);
    CHECK_INT(kl_elector_term(&ada.elector), 2);
    now = at(16000);
    CHECK_INT(kl_elector_stop_when_idle(&ada.elector, &now), KL_OK);
    CHECK(run(&ada, &server, 16000, 30000));
    CHECK(kl_elector_is_leading(&ada.elector, 30000));
    now = at(30000);
    CHECK_INT(kl_elector_work_done(&ada.elector, &now), KL_OK);
    CHECK(turn(&ada, &server, 30000));
    CHECK(ada.stopped);
    return 1;
}

/* Each kind of trouble that a server can make, and its name in C. */
static int troubles_have_their_kinds(void)
{
    static const struct {
        int status;
        const char *body;
        uint32_t kind, detail;
    } rows[] = {
        {400, "{}", KL_TROUBLE_BAD_REQUEST, 0},
        {418, "short and stout", KL_TROUBLE_REFUSED, 418},
        {404, "404 page not found\n", KL_TROUBLE_API_UNAVAILABLE, 0},
        {200, "", KL_TROUBLE_BODY_EMPTY, 0},
        {200, "<html>", KL_TROUBLE_BODY_NOT_JSON, 0},
        {200, "{\"kind\":\"Lease\"", KL_TROUBLE_BODY_TRUNCATED, 0},
        {200, "{\"kind\":01}", KL_TROUBLE_BODY_MALFORMED, 0},
        {200, "{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"1\"}}",
         KL_TROUBLE_BODY_NOT_A_LEASE, 0},
        {200, "{\"kind\":\"Lease\",\"metadata\":{},\"spec\":{}}", KL_TROUBLE_BODY_NO_VERSION, 0},
        {204, "", KL_TROUBLE_BODY_UNEXPECTED_STATUS, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fake_server server = {0};
        struct candidate ada;
        kl_action action = KL_ACTION_INIT;
        kl_now now = at(0);
        server.forced_status = rows[i].status;
        server.forced_body = rows[i].body;
        CHECK(begin(&ada, "ada", 0, NULL));
        CHECK_INT(kl_elector_poll(&ada.elector, &now, &action), KL_OK);
        CHECK_INT(fake_server_exchange(&server, &ada.elector, action.request_id, &now, 1), KL_OK);
        CHECK_INT(kl_elector_poll(&ada.elector, &now, &action), KL_OK);
        CHECK_INT(action.event, KL_EVENT_TROUBLE);
        CHECK_INT(action.reason, rows[i].kind);
        CHECK_INT(action.detail, rows[i].detail);
        CHECK_INT(action.verb, KL_VERB_GET);
    }
    return 1;
}

static int a_request_cannot_be_read_once_its_answer_took_its_place(void)
{
    struct fake_server server = released_lease();
    struct candidate ada;
    kl_action action = KL_ACTION_INIT;
    kl_request request = KL_REQUEST_INIT;
    kl_now now = at(0);
    CHECK(begin(&ada, "ada", 0, with_update));
    CHECK(run(&ada, &server, 0, 0));
    now = at(ada.due_ms);
    CHECK_INT(kl_elector_poll(&ada.elector, &now, &action), KL_OK);
    CHECK_INT(action.kind, KL_ACTION_SEND);
    CHECK_INT(kl_elector_request(&ada.elector, action.request_id, &request), KL_OK);
    CHECK_INT(request.method, KL_METHOD_PUT);
    CHECK_INT(kl_elector_response_begin(&ada.elector, action.request_id, 200), KL_OK);
    CHECK_INT(kl_elector_request(&ada.elector, action.request_id, &request), KL_ERR_ANSWER_BEGUN);
    return 1;
}

struct log {
    unsigned lines, by_code[8];
};

static void count_lines(void *user, uint32_t level, uint32_t code, uint64_t a, uint64_t b)
{
    struct log *log = user;
    log->lines += level >= KL_LOG_WARN && level <= KL_LOG_DEBUG;
    log->by_code[code & 7] += (code == KL_LOG_ANSWER) ? b == 200 || b == 201 || b == 404 : a < 100;
}

static int the_log_tells_requests_answers_and_events(void)
{
    struct fake_server server = {0};
    struct candidate ada;
    struct log log = {0, {0}};
    CHECK(begin(&ada, "ada", 0, NULL));
    CHECK_INT(kl_elector_set_log(&ada.elector, count_lines, &log), KL_OK);
    CHECK(run(&ada, &server, 0, 5000));
    CHECK_INT(log.by_code[KL_LOG_SEND], server.requests);
    CHECK_INT(log.by_code[KL_LOG_ANSWER], server.requests);
    CHECK_INT(log.by_code[KL_LOG_EVENT], ada.event_count);
    CHECK_INT(log.lines, 2 * server.requests + ada.event_count);
    return 1;
}

static int fences_of_two_terms_have_an_order(void)
{
    kl_fence older = {7, 0, 0, {0}}, newer = {12, 0, 0, {0}}, unknown = {0, 0, 0, {0}};
    CHECK_INT(kl_fence_cmp(&older, &newer), -1);
    CHECK_INT(kl_fence_cmp(&newer, &older), 1);
    CHECK_INT(kl_fence_cmp(&newer, &newer), 0);
    CHECK_INT(kl_fence_cmp(&newer, &unknown), INT32_MIN);
    return 1;
}

int main(void)
{
    static const struct test tests[] = {
        {"a candidate leads, renews and gives up", a_candidate_leads_renews_and_gives_up},
        {"every split and every place in memory gives the same election",
         every_split_and_every_place_in_memory_gives_the_same_election},
        {"a leader without a server ends by itself", a_leader_without_a_server_ends_by_itself},
        {"a late answer is stale and harmless", a_late_answer_is_stale_and_harmless},
        {"an update keeps what others wrote", an_update_keeps_what_others_wrote},
        {"an update that does not fit is no lossy write",
         an_update_that_does_not_fit_is_no_lossy_write},
        {"labels of our own are asserted when it acquires",
         labels_of_our_own_are_asserted_when_it_acquires},
        {"step down rests and comes back", step_down_rests_and_comes_back},
        {"troubles have their kinds", troubles_have_their_kinds},
        {"a request cannot be read once its answer took its place",
         a_request_cannot_be_read_once_its_answer_took_its_place},
        {"the log tells requests, answers and events", the_log_tells_requests_answers_and_events},
        {"fences of two terms have an order", fences_of_two_terms_have_an_order},
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}
