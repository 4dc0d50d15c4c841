/* The header needs no other before it, and can be included twice. */
#include <kubelease.h>
#include <kubelease.h>

/* Each macro that a caller writes. */
kl_action header_action(void);
kl_action header_action(void)
{
    kl_action action = KL_ACTION_INIT;
    kl_health health = KL_HEALTH_INIT;
    kl_request request = KL_REQUEST_INIT;
    kl_str text = KL_STR("text");
    text = KL_STR("other");
    action.detail = health.size + request.size + (uint32_t)text.len;
    return action;
}

#if !KL_VERSION_AT_LEAST(0, 1, 0) || KL_VERSION_AT_LEAST(255, 0, 0)
#error "KL_VERSION_AT_LEAST is wrong"
#endif

#ifdef WITH_MAIN
uint32_t header_kind_of_hostile_unit(void);

int main(void)
{
    return header_action().detail == 0 || header_kind_of_hostile_unit() != KL_ACTION_WAIT;
}
#endif
