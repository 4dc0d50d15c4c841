/* Heartbeats through the C interface: what every function promises, and whole lives. */
#include "check.h"

#include <kubelease.h>

#include <stdlib.h>
#include <string.h>

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

static bool begin(kl_heartbeat *heart, const kl_heartbeat_config *config)
{
    kl_now now = at(0);
    return kl_heartbeat_init(heart, sizeof *heart, config, &now) == KL_OK;
}

/* Each function on `heart`, with good arguments otherwise: all must say `code`. */
static int all_refuse(kl_heartbeat *heart, kl_status code)
{
    kl_action action = KL_ACTION_INIT;
    kl_request request = KL_REQUEST_INIT;
    kl_health health = KL_HEALTH_INIT;
    kl_str text = {NULL, 0};
    kl_now now = at(0);
    uint8_t buffer[8];
    size_t written = 77;
    CHECK_INT(kl_heartbeat_poll(heart, &now, &action), code);
    CHECK_INT(action.kind, 0);
    CHECK_INT(kl_heartbeat_request(heart, 1, &request), code);
    CHECK_INT(request.method, 0);
    CHECK_INT(kl_heartbeat_request_read(heart, 1, KL_PART_BODY, 0, buffer, 8, &written), code);
    CHECK_INT(written, 77);
    CHECK_INT(kl_heartbeat_response_begin(heart, 1, 200), code);
    CHECK_INT(kl_heartbeat_response_header(heart, 1, KL_STR("Date"), text), code);
    CHECK_INT(kl_heartbeat_response_body(heart, 1, buffer, 0), code);
    CHECK_INT(kl_heartbeat_response_end(heart, 1, &now), code);
    CHECK_INT(kl_heartbeat_transport_error(heart, 1, KL_TRANSPORT_UNKNOWN, &now), code);
    CHECK_INT(kl_heartbeat_alive(heart, &now), code);
    CHECK_INT(kl_heartbeat_retire(heart, &now, KL_RETIRE_KEEP), code);
    CHECK_INT(kl_heartbeat_node_uid(heart, &text), code);
    CHECK_INT(kl_heartbeat_health(heart, 0, &health), code);
    CHECK_INT(health.state, 0);
    CHECK_INT(kl_heartbeat_set_log(heart, NULL, NULL), code);
    CHECK(kl_heartbeat_last_beat(heart) == KL_NEVER);
    return 1;
}

static int no_object_is_an_answer_and_no_crash(void)
{
    static kl_heartbeat zeroed, ones;
    static union {
        kl_heartbeat aligned[2];
        kl_elector other;
        unsigned char bytes[2 * sizeof(kl_heartbeat)];
    } room;
    kl_heartbeat_config config = good_config();
    kl_elector_config other;
    kl_now now = at(0);
    void *misaligned = room.bytes + 1;
    memset(&ones, 0xff, sizeof ones);
    CHECK(all_refuse(NULL, KL_ERR_ARG) && all_refuse(&zeroed, KL_ERR_NOT_INIT));
    CHECK(all_refuse(&ones, KL_ERR_NOT_INIT));
    CHECK_INT(kl_heartbeat_init(misaligned, sizeof zeroed, &config, &now), KL_ERR_STORAGE);
    CHECK(all_refuse(misaligned, KL_ERR_STORAGE));
    /* An elector is no heartbeat. */
    kl_elector_config_default(&other, sizeof other);
    other.namespace_ = other.name = other.identity = KL_STR("n");
    CHECK_INT(kl_elector_init(&room.other, sizeof room.other, &other, &now), KL_OK);
    return all_refuse(&room.aligned[0], KL_ERR_NOT_INIT);
}

static int each_null_wrong_size_and_wrong_number_is_refused(void)
{
    kl_heartbeat heart;
    kl_heartbeat_config config = good_config();
    kl_action action = KL_ACTION_INIT;
    kl_request request = KL_REQUEST_INIT;
    kl_health health = KL_HEALTH_INIT;
    kl_now now = at(0);
    uint8_t byte = '{';
    size_t written = 5;
    CHECK_INT(kl_heartbeat_config_default(NULL, sizeof config), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_config_default(&config, sizeof config - 1), KL_ERR_SIZE);
    CHECK_INT(kl_heartbeat_init(NULL, sizeof heart, &config, &now), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_init(&heart, sizeof heart, NULL, &now), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_init(&heart, sizeof heart, &config, NULL), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_init(&heart, kl_heartbeat_size() - 1, &config, &now), KL_ERR_STORAGE);
    config.size--;
    CHECK_INT(kl_heartbeat_init(&heart, sizeof heart, &config, &now), KL_ERR_SIZE);
    config.size++;
    CHECK(kl_heartbeat_size() <= sizeof heart);
    CHECK_INT(kl_heartbeat_init(&heart, kl_heartbeat_size(), &config, &now), KL_OK);
    CHECK_INT(kl_heartbeat_poll(&heart, NULL, &action), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_poll(&heart, &now, NULL), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_poll(&heart, &now, &action), KL_OK);
    CHECK_INT(action.kind, KL_ACTION_SEND);
    uint32_t id = action.request_id;
    action.size = 0;
    CHECK_INT(kl_heartbeat_poll(&heart, &now, &action), KL_ERR_SIZE);
    CHECK_INT(kl_heartbeat_request(&heart, id, NULL), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_request(&heart, id + 1, &request), KL_ERR_STALE);
    CHECK_INT(kl_heartbeat_request_read(&heart, id, 3, 0, NULL, 0, &written), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_request_read(&heart, id, 1, 0, NULL, 4, &written), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_request_read(&heart, id, 1, 0, &byte, 1, NULL), KL_ERR_ARG);
    CHECK_INT(written, 5);
    CHECK_INT(kl_heartbeat_response_body(&heart, id, &byte, 1), KL_ERR_STALE);
    CHECK_INT(kl_heartbeat_response_header(&heart, id, KL_STR("a"), KL_STR("b")), KL_ERR_STALE);
    CHECK_INT(kl_heartbeat_response_end(&heart, id, &now), KL_ERR_STALE);
    CHECK_INT(kl_heartbeat_response_begin(&heart, id + 1, 200), KL_ERR_STALE);
    CHECK_INT(kl_heartbeat_response_begin(&heart, id, 99), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_response_begin(&heart, id, 200), KL_OK);
    CHECK_INT(kl_heartbeat_response_body(&heart, id, NULL, 1), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_response_end(&heart, id, NULL), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_transport_error(&heart, id, 4, &now), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_transport_error(&heart, id, 0, &now), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_alive(&heart, NULL), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_retire(&heart, &now, 0), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_retire(&heart, &now, 4), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_retire(&heart, NULL, KL_RETIRE_KEEP), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_node_uid(&heart, NULL), KL_ERR_ARG);
    CHECK_INT(kl_heartbeat_health(&heart, 0, NULL), KL_ERR_ARG);
    health.size = 3;
    CHECK_INT(kl_heartbeat_health(&heart, 0, &health), KL_ERR_SIZE);
    /* After all that the request still waits for its answer. */
    CHECK_INT(kl_heartbeat_transport_error(&heart, id, KL_TRANSPORT_NOT_SENT, &now), KL_OK);
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
    memset(life, 0, sizeof *life);
    life->chunk = chunk;
    config.node = KL_STR("gw1");
    config.flags |= flags;
    CHECK(begin(&life->heart, &config));
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
    memset(&life, 0, sizeof life);
    life.chunk = 5;
    config.liveness_ttl_ms = 2000;
    CHECK(begin(&life.heart, &config));
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

struct reentered {
    kl_heartbeat heart;
    int good;
};

static void reentering_hook(void *user, uint32_t level, uint32_t code, uint64_t a, uint64_t b)
{
    struct reentered *object = user;
    (void)level, (void)code, (void)a, (void)b;
    object->good = all_refuse(&object->heart, KL_ERR_REENTRANT) ? object->good + 1 : -1000;
}

static int a_call_from_the_hook_is_refused(void)
{
    static struct reentered object;
    kl_heartbeat_config config = good_config();
    kl_action action = KL_ACTION_INIT;
    kl_now now = at(0);
    CHECK(begin(&object.heart, &config));
    CHECK_INT(kl_heartbeat_set_log(&object.heart, reentering_hook, &object), KL_OK);
    CHECK_INT(kl_heartbeat_poll(&object.heart, &now, &action), KL_OK);
    CHECK_INT(object.good, 1);
    return 1;
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
        {"no object is an answer and no crash", no_object_is_an_answer_and_no_crash},
        {"each NULL, wrong size and wrong number is refused",
         each_null_wrong_size_and_wrong_number_is_refused},
        {"each fault of a configuration has its code", each_fault_of_a_configuration_has_its_code},
        {"a node beats in every split and every place",
         a_node_beats_in_every_split_and_every_place},
        {"a Node that is not ready is told", a_node_that_is_not_ready_is_told},
        {"a silent host is left out", a_silent_host_is_left_out},
        {"each end has its name", each_end_has_its_name},
        {"a call from the hook is refused", a_call_from_the_hook_is_refused},
        {"numbers have the names of the header", numbers_have_the_names_of_the_header},
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}
