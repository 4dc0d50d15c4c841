/* What the linked sizes are of. PROGRAM is 0 for nothing at all; 1 for an agent that runs for
 * election and updates by merge patch: all calls of such a program, and no others; 2 for the same
 * with a heartbeat beside it; 3 for every function but those that only name numbers. */
#include <kubelease.h>

#if PROGRAM
static kl_elector elector;
static volatile uint32_t number;
static void *volatile anything;
static kl_str text = KL_STR("text");

/* The calls of an agent. */
static uint32_t agent(kl_elector_config *config)
{
    kl_now now = {number, (int64_t)number};
    kl_action action = KL_ACTION_INIT;
    kl_request request = KL_REQUEST_INIT;
    kl_health health = KL_HEALTH_INIT;
    kl_fence fence;
    size_t written;
    kl_elector_init(&elector, sizeof elector, config, &now);
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
    kl_elector_fence(&elector, &fence);
    kl_elector_health(&elector, number, &health);
    return (uint32_t)kl_elector_is_leading(&elector, number) +
           (uint32_t)kl_elector_leading_until(&elector) + health.state;
}
#endif

#if PROGRAM >= 2
static kl_heartbeat heartbeat;

/* The calls of a heartbeat. */
static uint32_t heart(void)
{
    kl_heartbeat_config config;
    kl_now now = {number, (int64_t)number};
    kl_action action = KL_ACTION_INIT;
    kl_request request = KL_REQUEST_INIT;
    kl_health health = KL_HEALTH_INIT;
    size_t written;
    kl_heartbeat_config_default(&config, sizeof config);
    config.namespace_ = config.name = config.holder = config.node = text;
    kl_heartbeat_init(&heartbeat, sizeof heartbeat, &config, &now);
    kl_heartbeat_poll(&heartbeat, &now, &action);
    kl_heartbeat_request(&heartbeat, number, &request);
    kl_heartbeat_request_read(&heartbeat, number, number, number, anything, number, &written);
    kl_heartbeat_response_begin(&heartbeat, number, number);
    kl_heartbeat_response_header(&heartbeat, number, text, text);
    kl_heartbeat_response_body(&heartbeat, number, anything, number);
    kl_heartbeat_response_end(&heartbeat, number, &now);
    kl_heartbeat_transport_error(&heartbeat, number, number, &now);
    kl_heartbeat_alive(&heartbeat, &now);
    kl_heartbeat_retire(&heartbeat, &now, number);
    kl_heartbeat_health(&heartbeat, number, &health);
    return (uint32_t)kl_heartbeat_last_beat(&heartbeat) + health.state;
}
#endif

#if PROGRAM == 3
/* The calls of everybody else. */
static uint32_t others(kl_elector_config *config)
{
    static kl_label label;
    kl_now now = {number, (int64_t)number};
    kl_fence fence = {0};
    uint64_t state = number;
    size_t written;
    kl_label_init(&label, text, text);
    config->labels = &label;
    config->keep = anything;
    kl_elector_set_log(&elector, NULL, anything);
    kl_elector_stop_when_idle(&elector, &now);
    kl_elector_work_done(&elector, &now);
    kl_elector_watch(&elector);
    kl_elector_response_body_at(&elector, number, anything, number, &now);
    kl_elector_request_pieces(&elector, number, number, number, anything, number, anything, number,
                              &written);
    kl_heartbeat_request_pieces(&heartbeat, number, number, number, anything, number, anything,
                                number, &written);
    kl_elector_leader(&elector, &text);
    kl_heartbeat_node_uid(&heartbeat, &text);
    kl_heartbeat_set_log(&heartbeat, NULL, anything);
    return (uint32_t)(kl_elector_term(&elector) + kl_fence_token(&fence) +
                      (uint32_t)kl_fence_cmp(&fence, &fence) + kl_clock32_extend(&state, number)) +
           (uint32_t)(kl_elector_size() + kl_heartbeat_size()) +
           kl_version_number() + kl_abi_version();
}
#endif

int main(void)
{
    uint32_t sum = 0;
#if PROGRAM
    kl_elector_config config;
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = config.name = config.identity = text;
#endif
#if PROGRAM == 3
    sum += others(&config);
#endif
#if PROGRAM
    sum += agent(&config);
#endif
#if PROGRAM >= 2
    sum += heart();
#endif
    return (int)sum;
}
