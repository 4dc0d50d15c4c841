/* What every function promises about its arguments, whatever they are. */
#define OBJECT kl_elector
#define CALL(name) kl_elector_##name
#include "promises.h"

static kl_elector_config good_config(void)
{
    kl_elector_config config;
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = KL_STR("n");
    config.name = KL_STR("l");
    config.identity = KL_STR("ada");
    return config;
}

static kl_status try_config(const kl_elector_config *config)
{
    static kl_elector elector;
    return kl_elector_init(&elector, sizeof elector, config, &AT_0);
}

static kl_status make(kl_elector *elector, size_t size)
{
    kl_elector_config config = good_config();
    return kl_elector_init(elector, size, &config, &AT_0);
}

static int own_refuse(kl_elector *elector, kl_status code)
{
    kl_fence fence;
    kl_str text = {NULL, 0};
    CHECK_INT(kl_elector_step_down(elector, &AT_0, 5), code);
    CHECK_INT(kl_elector_stop(elector, &AT_0), code);
    CHECK_INT(kl_elector_stop_when_idle(elector, &AT_0), code);
    CHECK_INT(kl_elector_work_done(elector, &AT_0), code);
    CHECK_INT(kl_elector_leader(elector, &text), code);
    CHECK_INT(kl_elector_fence(elector, &fence), code);
    CHECK(!kl_elector_is_leading(elector, 0));
    CHECK_INT(kl_elector_leading_until(elector), 0);
    CHECK_INT(kl_elector_term(elector), 0);
    return 1;
}

static int each_null_of_an_elector_is_refused(void)
{
    kl_elector elector;
    kl_elector_config config = good_config();
    uint32_t id;
    CHECK_INT(kl_elector_init(&elector, sizeof elector, NULL, &AT_0), KL_ERR_ARG);
    CHECK_INT(kl_elector_init(&elector, sizeof elector, &config, NULL), KL_ERR_ARG);
    CHECK_INT(kl_elector_config_default(NULL, sizeof config), KL_ERR_ARG);
    CHECK(begin(&elector, &id));
    CHECK_INT(kl_elector_step_down(&elector, NULL, 0), KL_ERR_ARG);
    CHECK_INT(kl_elector_stop(&elector, NULL), KL_ERR_ARG);
    CHECK_INT(kl_elector_leader(&elector, NULL), KL_ERR_ARG);
    CHECK_INT(kl_elector_fence(&elector, NULL), KL_ERR_ARG);
    CHECK_INT(kl_label_init(NULL, KL_STR("a"), KL_STR("b")), KL_ERR_ARG);
    CHECK_INT(kl_fence_token(NULL), 0);
    CHECK_INT(kl_fence_cmp(NULL, NULL), INT32_MIN);
    CHECK_INT(kl_clock32_extend(NULL, 9), 9);
    return 1;
}

static int sizes_of_a_configuration_say_which_release_the_caller_knows(void)
{
    struct {
        kl_elector_config known;
        uint64_t later;
    } newer;
    kl_elector elector;
    kl_elector_config config;
    CHECK_INT(kl_elector_config_default(&config, sizeof config - 1), KL_ERR_SIZE);
    newer.later = 0x5a5a5a5a;
    CHECK_INT(kl_elector_config_default(&newer.known, sizeof newer), KL_OK);
    CHECK_INT(newer.later, 0x5a5a5a5a);
    CHECK_INT(newer.known.size, sizeof config);
    newer.known = good_config();
    newer.known.size = sizeof newer;
    CHECK_INT(kl_elector_init(&elector, sizeof elector, &newer.known, &AT_0), KL_OK);
    newer.known.size = sizeof config - 1;
    CHECK_INT(kl_elector_init(&elector, sizeof elector, &newer.known, &AT_0), KL_ERR_SIZE);
    return 1;
}

static int each_fault_of_a_configuration_has_its_code(void)
{
    static uint8_t keep[8];
    static kl_label labels[5];
    kl_elector_config config;
#define FAULT(change, code)                       \
    do {                                          \
        config = good_config();                   \
        change;                                   \
        CHECK_INT(try_config(&config), code);     \
    } while (0)
    FAULT((void)0, KL_OK);
    FAULT(config.namespace_ = KL_STR(""), KL_ERR_NAMESPACE);
    FAULT(config.namespace_ = KL_STR("a.b"), KL_ERR_NAMESPACE);
    FAULT(config.namespace_ = KL_STR("\xff"), KL_ERR_NAMESPACE);
    FAULT(config.name = KL_STR(""), KL_ERR_NAME);
    FAULT(config.name = KL_STR("a/b"), KL_ERR_NAME);
    FAULT(config.identity = KL_STR(""), KL_ERR_IDENTITY);
    FAULT(config.identity = KL_STR("a\"b"), KL_ERR_IDENTITY);
    FAULT(config.identity = KL_STR("a\xff"), KL_ERR_IDENTITY);
    FAULT(config.identity.ptr = NULL, KL_ERR_ARG);
    FAULT(config.lease_duration_ms = 0, KL_ERR_LEASE_DURATION);
    FAULT(config.lease_duration_ms = 15500, KL_ERR_LEASE_DURATION);
    FAULT(config.renew_deadline_ms = 14950, KL_ERR_LEASE_DURATION);
    FAULT(config.renew_deadline_ms = 0, KL_ERR_RENEW_DEADLINE);
    FAULT(config.renew_deadline_ms = 15000, KL_ERR_RENEW_DEADLINE);
    FAULT(config.retry_period_ms = 0, KL_ERR_RETRY_PERIOD);
    FAULT(config.retry_period_ms = 9000, KL_ERR_RETRY_PERIOD);
    FAULT(config.request_timeout_ms = 4001, KL_ERR_REQUEST_TIMEOUT);
    FAULT(config.jitter_percent = 501, KL_ERR_JITTER);
    FAULT(config.write = 2, KL_ERR_ARG);
    FAULT(config.create = 3, KL_ERR_ARG);
    FAULT(config.write = KL_WRITE_UPDATE, KL_ERR_KEEP);
    FAULT((config.write = KL_WRITE_UPDATE, config.keep = keep, config.keep_len = 8), KL_OK);
    FAULT(config.flags = 8, KL_ERR_UNSUPPORTED);
    FAULT(config.reserved = 1, KL_ERR_UNSUPPORTED);
    FAULT((config.labels = labels, config.label_count = 1), KL_ERR_LABEL);
    static const char keys[] = "abcde";
    for (size_t i = 0; i < 5; i++) {
        kl_str key = {keys + i, 1};
        CHECK_INT(kl_label_init(&labels[i], key, KL_STR("")), KL_OK);
    }
    FAULT((config.labels = labels, config.label_count = 4), KL_OK);
    FAULT((config.labels = labels, config.label_count = 5), KL_ERR_LABEL);
    FAULT(config.label_count = 1, KL_ERR_ARG);
    labels[1] = labels[0];
    FAULT((config.labels = labels, config.label_count = 2), KL_ERR_LABEL);
    CHECK_INT(kl_label_init(&labels[0], KL_STR("a b"), KL_STR("")), KL_OK);
    FAULT((config.labels = labels, config.label_count = 1), KL_ERR_LABEL);
    CHECK_INT(kl_label_init(&labels[0], KL_STR("\xff"), KL_STR("")), KL_ERR_LABEL);
#undef FAULT
    return 1;
}

static int a_candidate_has_no_fence(void)
{
    kl_elector elector;
    kl_fence fence;
    uint32_t id;
    CHECK(begin(&elector, &id));
    CHECK_INT(kl_elector_fence(&elector, &fence), KL_ERR_NOT_LEADING);
    return 1;
}

static int a_counter_of_32_bits_goes_on(void)
{
    uint64_t state = 0;
    CHECK_INT(kl_clock32_extend(&state, 0xfffffff0u), 0xfffffff0u);
    CHECK_INT(kl_clock32_extend(&state, 5), 0x100000005);
    CHECK_INT(kl_clock32_extend(&state, 4), 0x100000005);
    CHECK_INT(kl_clock32_extend(&state, 6), 0x100000006);
    return 1;
}

static int header_and_library_are_of_one_version(void)
{
    CHECK_INT(kl_version_number(), KL_VERSION_NUMBER);
    CHECK_INT(kl_abi_version(), KL_ABI_VERSION);
    CHECK(strcmp(kl_version_string(), KL_VERSION_STRING) == 0);
    CHECK(KL_VERSION_AT_LEAST(KL_VERSION_MAJOR, KL_VERSION_MINOR, KL_VERSION_PATCH));
    CHECK(!KL_VERSION_AT_LEAST(KL_VERSION_MAJOR, KL_VERSION_MINOR, KL_VERSION_PATCH + 1));
    return 1;
}

static int numbers_have_the_names_of_the_header(void)
{
    CHECK(strcmp(kl_status_name(KL_OK), "KL_OK") == 0);
    CHECK(strcmp(kl_status_name(KL_ERR_UNSUPPORTED), "KL_ERR_UNSUPPORTED") == 0);
    CHECK(strcmp(kl_status_name(1), "KL_UNKNOWN") == 0);
    CHECK(strcmp(kl_status_name(INT32_MIN), "KL_UNKNOWN") == 0);
    CHECK(strcmp(kl_action_name(KL_ACTION_STOPPED), "KL_ACTION_STOPPED") == 0);
    CHECK(strcmp(kl_event_name(KL_EVENT_FINISHED), "KL_EVENT_FINISHED") == 0);
    CHECK(strcmp(kl_stop_reason_name(KL_STOP_LOST), "KL_STOP_LOST") == 0);
    CHECK(strcmp(kl_trouble_name(KL_TROUBLE_BODY_TOO_DEEP), "KL_TROUBLE_BODY_TOO_DEEP") == 0);
    CHECK(strcmp(kl_finish_name(KL_FINISH_RELEASED), "KL_FINISH_RELEASED") == 0);
    CHECK(strcmp(kl_log_name(KL_LOG_STOPPED), "KL_LOG_STOPPED") == 0);
    CHECK(strcmp(kl_log_name(0), "KL_UNKNOWN") == 0);
    return 1;
}

int main(void)
{
    static const struct test tests[] = {
        PROMISES,
        {"each NULL of an elector is refused", each_null_of_an_elector_is_refused},
        {"sizes of a configuration say which release the caller knows",
         sizes_of_a_configuration_say_which_release_the_caller_knows},
        {"each fault of a configuration has its code", each_fault_of_a_configuration_has_its_code},
        {"a candidate has no fence", a_candidate_has_no_fence},
        {"a counter of 32 bits goes on", a_counter_of_32_bits_goes_on},
        {"header and library are of one version", header_and_library_are_of_one_version},
        {"numbers have the names of the header", numbers_have_the_names_of_the_header},
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}
