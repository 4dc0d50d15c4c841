/* Calls everything but the functions that only name numbers, so that the linker keeps it. */
#include <kubelease.h>

#ifdef WITH_KUBELEASE
static kl_elector elector;
static volatile uint32_t number;
static void *volatile anything;

int main(void)
{
    kl_elector_config config;
    kl_now now = {number, (int64_t)number};
    kl_action action = KL_ACTION_INIT;
    kl_request request = KL_REQUEST_INIT;
    kl_health health = KL_HEALTH_INIT;
    kl_fence fence;
    kl_str text = KL_STR("text");
    kl_label label;
    uint64_t state = number;
    size_t written;
    kl_label_init(&label, text, text);
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = config.name = config.identity = text;
    config.labels = &label;
    config.keep = anything;
    kl_elector_init(&elector, sizeof elector, &config, &now);
    kl_elector_set_log(&elector, NULL, anything);
    kl_elector_poll(&elector, &now, &action);
    kl_elector_request(&elector, number, &request);
    kl_elector_request_read(&elector, number, number, number, anything, number, &written);
    kl_elector_response_begin(&elector, number, number);
    kl_elector_response_header(&elector, number, text, text);
    kl_elector_response_body(&elector, number, anything, number);
    kl_elector_response_end(&elector, number, &now);
    kl_elector_transport_error(&elector, number, number, &now);
    kl_elector_step_down(&elector, &now, number);
    kl_elector_stop(&elector, &now);
    kl_elector_stop_when_idle(&elector, &now);
    kl_elector_work_done(&elector, &now);
    kl_elector_leader(&elector, &text);
    kl_elector_fence(&elector, &fence);
    kl_elector_health(&elector, number, &health);
    return (int)(kl_elector_is_leading(&elector, number) + kl_elector_leading_until(&elector) +
                 kl_elector_term(&elector) + kl_fence_token(&fence) + health.state +
                 (uint64_t)kl_fence_cmp(&fence, &fence) + kl_clock32_extend(&state, number) +
                 kl_elector_size() + kl_version_number() + kl_abi_version());
}
#else
int main(void)
{
    return 0;
}
#endif
