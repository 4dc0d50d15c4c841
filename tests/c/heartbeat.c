/* Heartbeats through the C interface: what every function promises, and whole lives. */
#define OBJECT kl_heartbeat
#define CALL(name) kl_heartbeat_##name
#include "pieces.h"
#include "promises.h"

#include <stdlib.h>

static kl_now at(uint64_t ms)
{
    kl_now now = {ms, (int64_t)1767225600000000 + (int64_t)ms * 1000};
    return now;
}

static kl_heartbeat_config good_config(void)
{
    kl_heartbeat_config config;
    kl_heartbeat_config_default(&config, sizeof config);
    config.namespace_ = KL_STR("kube-node-lease");
    config.name = KL_STR("gw1");
    config.holder = KL_STR("gw1");
    config.flags = KL_HEARTBEAT_AT_ONCE;
    config.jitter_percent = 0;
    return config;
}

static kl_status make(kl_heartbeat *heart, size_t size)
{
    kl_heartbeat_config config = good_config();
    return kl_heartbeat_init(heart, size, &config, &AT_0);
}

static int own_refuse(kl_heartbeat *heart, kl_status code)
{
    kl_str text = {NULL, 0};
    CHECK_INT(kl_heartbeat_alive(heart, &AT_0), code);
    CHECK_INT(kl_heartbeat_retire(heart, &AT_0, KL_RETIRE_KEEP), code);
    CHECK_INT(kl_heartbeat_node_uid(heart, &text), code);
    CHECK(kl_heartbeat_last_beat(heart) == KL_NEVER);
    return 1;
}

static int an_elector_is_no_heartbeat(void)
{
    static union {
        kl_heartbeat heart;
        kl_elector elector;
    } room;
    kl_elector_config config;
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = config.name = config.identity = KL_STR("n");
    CHECK_INT(kl_elector_init(&room.elector, sizeof room.elector, &config, &AT_0), KL_OK);
    return all_refuse(&room.heart, KL_ERR_NOT_INIT);
}

static int each_null_and_wrong_number_of_a_heart_is_refused(void)
{
    kl_heartbeat heart;
    kl_heartbeat_config config = good_config();
    uint32_t id;
    CHECK_INT(kl_heartbeat_config_default(NULL, sizeof config), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_config_default(&config, sizeof config - 1), KL_ERR_SIZE);
    CHECK_INT(kl_heartbeat_init(&heart, sizeof heart, NULL, &AT_0), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_init(&heart, sizeof heart, &config, NULL), KL_ERR_ARG);
    config.size--;
    CHECK_INT(kl_heartbeat_init(&heart, sizeof heart, &config, &AT_0), KL_ERR_SIZE);
    CHECK(begin(&heart, &id));
    CHECK_INT(kl_heartbeat_alive(&heart, NULL), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_retire(&heart, &AT_0, 0), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_retire(&heart, &AT_0, 4), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_retire(&heart, NULL, KL_RETIRE_KEEP), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_node_uid(&heart, NULL), KL_ERR_ARG);
    return 1;
}

static int each_fault_of_a_configuration_has_its_code(void)
{
    static kl_heartbeat heart;
    static uint8_t keep[8];
    kl_heartbeat_config config;
    kl_now now = at(0);
#define FAULT(change, code)                                                           \
    do {                                                                              \
        config = good_config();                                                       \
        change;                                                                       \
        CHECK_INT(kl_heartbeat_init(&heart, sizeof heart, &config, &now), code);      \
    } while (0)
    FAULT((void)0, KL_OK);
    FAULT(config.namespace_ = KL_STR("a.b"), KL_ERR_NAMESPACE);
    FAULT(config.name = KL_STR("UPPER"), KL_ERR_NAME);
    FAULT(config.holder = KL_STR(""), KL_ERR_IDENTITY);
    FAULT(config.holder = KL_STR("a\xff"), KL_ERR_IDENTITY);
    FAULT(config.node = KL_STR("UPPER"), KL_ERR_NODE);
    FAULT(config.node_uid = KL_STR("u"), KL_ERR_NODE);
    FAULT((config.node = KL_STR("gw1"), config.node_uid = KL_STR("a b")), KL_ERR_NODE);
    FAULT((config.node = KL_STR("gw1"), config.node_uid = KL_STR("u")), KL_OK);
    FAULT(config.flags = KL_HEARTBEAT_OWNER_REQUIRED, KL_ERR_NODE);
    FAULT(config.flags = KL_HEARTBEAT_WATCH_NODE, KL_ERR_NODE);
    FAULT(config.flags = 32, KL_ERR_UNSUPPORTED);
    FAULT(config.lease_duration_ms = 0, KL_ERR_LEASE_DURATION);
    FAULT(config.lease_duration_ms = 1500, KL_ERR_LEASE_DURATION);
    FAULT(config.interval_ms = 39000, KL_ERR_INTERVAL);
    FAULT(config.request_timeout_ms = 30001, KL_ERR_INTERVAL);
    FAULT(config.jitter_percent = 101, KL_ERR_JITTER);
    FAULT(config.write = 2, KL_ERR_ARG);
    FAULT(config.create = KL_CREATE_PUT, KL_OK);
    FAULT(config.create = KL_CREATE_NEVER, KL_ERR_ARG);
    FAULT(config.write = KL_WRITE_UPDATE, KL_ERR_KEEP);
    FAULT((config.write = KL_WRITE_UPDATE, config.keep = keep, config.keep_len = 8), KL_OK);
#undef FAULT
    return 1;
}

/* A life: what was asked last, and how answers are cut. */
struct life {
    kl_heartbeat heart;
    size_t chunk;
    kl_action last;
    char method[8], target[300], body[800];
};

/* A life begins. */
static int starts(struct life *life, size_t chunk, const kl_heartbeat_config *config)
{
    kl_now now = at(0);
    memset(life, 0, sizeof *life);
    life->chunk = chunk;
    CHECK_INT(kl_heartbeat_init(&life->heart, sizeof life->heart, config, &now), KL_OK);
    return 1;
}

/* Polls once, after the object has been moved. */
static int poll(struct life *life, uint64_t ms)
{
    kl_heartbeat elsewhere;
    kl_now now = at(ms);
    kl_action action = KL_ACTION_INIT;
    memcpy(&elsewhere, &life->heart, sizeof elsewhere);
    memset(&life->heart, 0xa5, sizeof life->heart);
    memcpy(&life->heart, &elsewhere, sizeof elsewhere);
    CHECK_INT(kl_heartbeat_poll(&life->heart, &now, &action), KL_OK);
    life->last = action;
    return 1;
}

/* One part of the request in flight, in pieces. */
static int read_part(struct life *life, uint32_t part, char *into, size_t length, size_t capacity)
{
    size_t have = 0, written = 1;
    CHECK(length < capacity);
    while (written != 0) {
        size_t room = length - have < life->chunk ? length - have : life->chunk;
        CHECK_INT(kl_heartbeat_request_read(&life->heart, life->last.request_id, part, have,
                                            (uint8_t *)into + have, room, &written),
                  KL_OK);
        have += written;
    }
    into[have] = '\0';
    CHECK_INT(have, length);
    CHECK(pieces_are(&life->heart, life->last.request_id, part, into, have, 1 + life->chunk % 8));
    return 1;
}

/* Wants a request now, and reads it. */
static int wants(struct life *life, uint64_t ms, const char *method, const char *target)
{
    kl_request request = KL_REQUEST_INIT;
    CHECK(poll(life, ms));
    CHECK_INT(life->last.kind, KL_ACTION_SEND);
    CHECK_INT(kl_heartbeat_request(&life->heart, life->last.request_id, &request), KL_OK);
    snprintf(life->method, sizeof life->method, "%.*s", (int)request.method_name.len,
             request.method_name.ptr);
    CHECK(read_part(life, KL_PART_TARGET, life->target, request.target_len, sizeof life->target));
    CHECK(read_part(life, KL_PART_BODY, life->body, request.body_len, sizeof life->body));
    CHECK(strcmp(life->method, method) == 0);
    CHECK(strncmp(life->target, target, strlen(target)) == 0);
    return 1;
}

static int answers(struct life *life, uint64_t ms, uint32_t status, const char *body)
{
    uint32_t id = life->last.request_id;
    kl_now now = at(ms);
    CHECK_INT(kl_heartbeat_response_begin(&life->heart, id, status), KL_OK);
    CHECK_INT(kl_heartbeat_response_header(&life->heart, id, KL_STR("Date"),
                                           KL_STR("Thu, 01 Jan 2026 00:00:00 GMT")),
              KL_OK);
    for (size_t begun = 0, length = strlen(body); begun < length; begun += life->chunk) {
        size_t count = length - begun < life->chunk ? length - begun : life->chunk;
        /* An exact copy on the heap: one byte read too far is seen by the sanitizers. */
        uint8_t *copy = malloc(count);
        CHECK(copy != NULL);
        memcpy(copy, body + begun, count);
        kl_status code = kl_heartbeat_response_body(&life->heart, id, copy, count);
        free(copy);
        CHECK_INT(code, KL_OK);
    }
    CHECK_INT(kl_heartbeat_response_end(&life->heart, id, &now), KL_OK);
    return 1;
}

/* The Lease that the request in flight has written, as version `version`. */
static int accepts(struct life *life, uint64_t ms, unsigned version)
{
    char answer[900], renewed[40] = "";
    const char *renew = strstr(life->body, "\"renewTime\":\"");
    CHECK(renew != NULL);
    snprintf(renewed, sizeof renewed, "%.27s", renew + 13);
    snprintf(answer, sizeof answer,
             "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"gw1\",\"uid\":\"l1\","
             "\"resourceVersion\":\"%u\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
             "\"kind\":\"Node\",\"name\":\"gw1\",\"uid\":\"n1\"}]},\"spec\":{"
             "\"holderIdentity\":\"gw1\",\"leaseDurationSeconds\":40,\"renewTime\":\"%s\"}}\n",
             version, renewed);
    return answers(life, ms, version == 1 ? 201 : 200, answer);
}

static int says(struct life *life, uint64_t ms, uint32_t event, uint32_t reason)
{
    CHECK(poll(life, ms));
    CHECK_INT(life->last.kind, KL_ACTION_EVENT);
    CHECK_INT(life->last.event, event);
    CHECK_INT(life->last.reason, reason);
    return 1;
}

static int waits(struct life *life, uint64_t ms, uint64_t until)
{
    CHECK(poll(life, ms));
    CHECK_INT(life->last.kind, KL_ACTION_WAIT);
    CHECK_INT(life->last.deadline_ms, until);
    return 1;
}

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
static const char MISSING[] =
    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"gw1\",\"kind\":\"leases\"}}";

static int health_is(const struct life *life, uint64_t ms, uint32_t state)
{
    kl_health health = KL_HEALTH_INIT;
    CHECK_INT(kl_heartbeat_health(&life->heart, ms, &health), KL_OK);
    CHECK_INT(health.state, state);
    return 1;
}

/* A node's heartbeat is born: it looks at the Lease and the Node, and creates. */
static int is_born(struct life *life, size_t chunk, uint32_t flags)
{
    kl_heartbeat_config config = good_config();
    config.node = KL_STR("gw1");
    config.flags |= flags;
    CHECK(starts(life, chunk, &config));
    CHECK(wants(life, 0, "GET", LEASES "/gw1?"));
    CHECK(answers(life, 0, 404, MISSING));
    CHECK(wants(life, 0, "GET", "/api/v1/nodes/gw1"));
    CHECK(answers(life, 0, 200,
                  "{\"kind\":\"Node\",\"metadata\":{\"name\":\"gw1\",\"uid\":\"n1\","
                  "\"resourceVersion\":\"5\"},\"status\":{\"conditions\":[{\"type\":\"Ready\","
                  "\"status\":\"Unknown\"}]}}"));
    CHECK(wants(life, 0, "POST", LEASES "?"));
    CHECK(strstr(life->body, "\"uid\":\"n1\"") != NULL);
    CHECK(strstr(life->body, "\"holderIdentity\":\"gw1\"") != NULL);
    CHECK(kl_heartbeat_last_beat(&life->heart) == KL_NEVER);
    CHECK(accepts(life, 0, 1));
    CHECK_INT(kl_heartbeat_last_beat(&life->heart), 0);
    return 1;
}

static int a_node_beats_in_every_split_and_every_place(void)
{
    static const size_t chunks[] = {1, 3, 4096};
    for (size_t i = 0; i < 3; i++) {
        struct life life;
        kl_str uid;
        CHECK(is_born(&life, chunks[i], 0));
        CHECK_INT(kl_heartbeat_node_uid(&life.heart, &uid), KL_OK);
        CHECK(uid.len == 2 && memcmp(uid.ptr, "n1", 2) == 0);
        CHECK(waits(&life, 0, 10000));
        CHECK(wants(&life, 10000, "PATCH", LEASES "/gw1?"));
        CHECK(strstr(life.body, "\"resourceVersion\":\"1\"") != NULL);
        CHECK(strstr(life.body, "2026-01-01T00:00:10.000000Z") != NULL);
        CHECK(accepts(&life, 10000, 2));
        CHECK(waits(&life, 10000, 20000));
        CHECK_INT(kl_heartbeat_last_beat(&life.heart), 10000);
        CHECK(health_is(&life, 10000, KL_HEALTH_OK));
        CHECK(health_is(&life, 60000, KL_HEALTH_NOT_POLLED));
    }
    return 1;
}

static int a_node_that_is_not_ready_is_told(void)
{
    struct life life;
    CHECK(is_born(&life, 7, KL_HEARTBEAT_WATCH_NODE));
    CHECK(wants(&life, 0, "GET", "/api/v1/nodes/gw1"));
    CHECK(answers(&life, 0, 200,
                  "{\"kind\":\"Node\",\"metadata\":{\"name\":\"gw1\",\"uid\":\"n1\","
                  "\"resourceVersion\":\"5\"},\"status\":{\"conditions\":[{\"type\":\"Ready\","
                  "\"status\":\"Unknown\"}]}}"));
    CHECK(says(&life, 0, KL_EVENT_NODE_NOT_READY, KL_READINESS_UNKNOWN));
    return 1;
}

static int a_silent_host_is_left_out(void)
{
    struct life life;
    kl_heartbeat_config config = good_config();
    kl_now now = at(500);
    config.liveness_ttl_ms = 2000;
    CHECK(starts(&life, 5, &config));
    CHECK(says(&life, 0, KL_EVENT_TROUBLE, KL_TROUBLE_NOT_ALIVE));
    CHECK(health_is(&life, 0, KL_HEALTH_NOT_ALIVE));
    CHECK_INT(kl_heartbeat_alive(&life.heart, &now), KL_OK);
    CHECK(wants(&life, 500, "GET", LEASES "/gw1?"));
    CHECK(health_is(&life, 500, KL_HEALTH_OK));
    return 1;
}

/* Retires after a first beat, and says so in the end. */
static int retires(struct life *life, uint32_t how)
{
    kl_now now = at(1000);
    CHECK(is_born(life, 64, 0));
    CHECK(waits(life, 0, 10000));
    CHECK_INT(kl_heartbeat_retire(&life->heart, &now, how), KL_OK);
    return 1;
}

static int ends(struct life *life, uint32_t finish)
{
    CHECK(says(life, 1000, KL_EVENT_FINISHED, finish));
    CHECK(poll(life, 1000));
    CHECK_INT(life->last.kind, KL_ACTION_STOPPED);
    CHECK(life->last.deadline_ms == KL_NEVER);
    return 1;
}

static int each_end_has_its_name(void)
{
    struct life life;
    CHECK(retires(&life, KL_RETIRE_KEEP) && ends(&life, KL_FINISH_KEPT));
    CHECK(retires(&life, KL_RETIRE_FINAL_BEAT));
    CHECK(wants(&life, 1000, "PATCH", LEASES "/gw1?"));
    CHECK(accepts(&life, 1000, 2) && ends(&life, KL_FINISH_KEPT));
    CHECK(retires(&life, KL_RETIRE_DELETE));
    CHECK(wants(&life, 1000, "DELETE", LEASES "/gw1?"));
    CHECK(strstr(life.body, "\"resourceVersion\":\"1\"") != NULL);
    CHECK(answers(&life, 1000, 200, "{\"kind\":\"Status\",\"status\":\"Success\"}"));
    return ends(&life, KL_FINISH_DELETED);
}

/* The Lease in the words of a server, as `holder` renewed it. */
static int reads(struct life *life, uint64_t ms, const char *holder, const char *renew_time)
{
    char answer[400];
    snprintf(answer, sizeof answer,
             "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"gw1\",\"uid\":\"l1\","
             "\"resourceVersion\":\"5\"},\"spec\":{\"holderIdentity\":\"%s\","
             "\"leaseDurationSeconds\":25,\"renewTime\":\"%s\"}}",
             holder, renew_time);
    return answers(life, ms, 200, answer);
}

static int trouble(struct life *life, uint64_t ms, uint32_t kind, uint32_t verb)
{
    CHECK(says(life, ms, KL_EVENT_TROUBLE, kind));
    CHECK_INT(life->last.verb, verb);
    CHECK_INT(life->last.detail, 0);
    return 1;
}

static int a_missing_node_is_told_and_owns_nothing(void)
{
    static const char no_node[] = "{\"kind\":\"Status\",\"reason\":\"NotFound\","
                                  "\"details\":{\"name\":\"gw1\",\"kind\":\"nodes\"}}";
    for (int required = 0; required < 2; required++) {
        struct life life;
        kl_heartbeat_config config = good_config();
        config.node = KL_STR("gw1");
        config.flags |= required ? KL_HEARTBEAT_OWNER_REQUIRED : 0u;
        CHECK(starts(&life, 9, &config));
        CHECK(wants(&life, 0, "GET", LEASES "/gw1?"));
        CHECK(answers(&life, 0, 404, MISSING));
        CHECK(wants(&life, 0, "GET", "/api/v1/nodes/gw1"));
        CHECK(answers(&life, 0, 404, no_node));
        CHECK(trouble(&life, 0, KL_TROUBLE_NODE_MISSING, KL_VERB_GET_NODE));
        if (required) {
            CHECK(waits(&life, 0, 10000));
        } else {
            CHECK(wants(&life, 0, "POST", LEASES "?"));
            CHECK(strstr(life.body, "ownerReferences") == NULL);
        }
    }
    return 1;
}

static int somebody_elses_lease_is_told_and_waited_out(void)
{
    static const char time[] = "2026-01-01T00:00:00.000000Z";
    struct life life;
    kl_heartbeat_config config = good_config();
    CHECK(starts(&life, 9, &config));
    CHECK(wants(&life, 0, "GET", LEASES "/gw1?"));
    CHECK(reads(&life, 0, "bob", time));
    CHECK(trouble(&life, 0, KL_TROUBLE_HELD_BY_ANOTHER, KL_VERB_UPDATE));
    CHECK(waits(&life, 0, 10000));
    CHECK(wants(&life, 10000, "GET", LEASES "/gw1?") && reads(&life, 10000, "bob", time));
    CHECK(waits(&life, 10000, 20000));
    CHECK(wants(&life, 20000, "GET", LEASES "/gw1?") && reads(&life, 20000, "bob", time));
    CHECK(waits(&life, 20000, 25001));
    CHECK(wants(&life, 25001, "PATCH", LEASES "/gw1?"));
    CHECK(strstr(life.body, "\"holderIdentity\":\"gw1\"") != NULL);
    /* Unless the owner is forced. */
    config.flags |= KL_HEARTBEAT_FORCE_OWNER;
    CHECK(starts(&life, 9, &config));
    CHECK(wants(&life, 0, "GET", LEASES "/gw1?") && reads(&life, 0, "bob", time));
    return wants(&life, 0, "PATCH", LEASES "/gw1?");
}

static int at_the_end_of_times_nothing_is_written(void)
{
    struct life life;
    kl_heartbeat_config config = good_config();
    CHECK(starts(&life, 9, &config));
    CHECK(wants(&life, 0, "GET", LEASES "/gw1?"));
    CHECK(reads(&life, 0, "gw1", "9999-12-31T23:59:59.999999Z"));
    CHECK(trouble(&life, 0, KL_TROUBLE_TIME_USED_UP, KL_VERB_UPDATE));
    CHECK(waits(&life, 0, 10000));
    return waits(&life, 10000, 20000);
}

static int numbers_have_the_names_of_the_header(void)
{
    CHECK(strcmp(kl_status_name(KL_ERR_NODE), "KL_ERR_NODE") == 0);
    CHECK(strcmp(kl_event_name(KL_EVENT_NODE_NOT_READY), "KL_EVENT_NODE_NOT_READY") == 0);
    CHECK(strcmp(kl_trouble_name(KL_TROUBLE_NODE_MISSING), "KL_TROUBLE_NODE_MISSING") == 0);
    CHECK(strcmp(kl_finish_name(KL_FINISH_DELETED), "KL_FINISH_DELETED") == 0);
    CHECK(strcmp(kl_readiness_name(KL_READINESS_UNKNOWN), "KL_READINESS_UNKNOWN") == 0);
    CHECK(strcmp(kl_readiness_name(0), "KL_UNKNOWN") == 0);
    return 1;
}

int main(void)
{
    static const struct test tests[] = {
        PROMISES,
        {"an elector is no heartbeat", an_elector_is_no_heartbeat},
        {"each NULL and wrong number of a heart is refused",
         each_null_and_wrong_number_of_a_heart_is_refused},
        {"each fault of a configuration has its code", each_fault_of_a_configuration_has_its_code},
        {"a node beats in every split and every place",
         a_node_beats_in_every_split_and_every_place},
        {"a Node that is not ready is told", a_node_that_is_not_ready_is_told},
        {"a silent host is left out", a_silent_host_is_left_out},
        {"each end has its name", each_end_has_its_name},
        {"a missing Node is told and owns nothing", a_missing_node_is_told_and_owns_nothing},
        {"somebody else's Lease is told and waited out",
         somebody_elses_lease_is_told_and_waited_out},
        {"at the end of times nothing is written", at_the_end_of_times_nothing_is_written},
        {"numbers have the names of the header", numbers_have_the_names_of_the_header},
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}
