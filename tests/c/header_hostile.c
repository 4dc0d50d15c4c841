/* Macros that other libraries and platforms define must not reach into the header: those of klib's
   klist.h, of windows.h, and of many a project of its own. */
#define kl_init(name, mp) klist_init_##name
#define kl_begin(kl) ((kl)->head)
#define kl_end(kl) ((kl)->tail)
#define kl_next(iter) ((iter)->next)
#define kl_val(iter) ((iter)->data)
#define kl_push(name, kl) klist_push_##name
#define kl_shift(name, kl) klist_shift_##name
#define kl_destroy(name, kl) klist_destroy_##name
#define kl_empty(kl) ((kl)->size == 0)
#define ERROR 0
#define OK 0
#define STATUS long
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define near
#define far
#define small char
#define interface struct
#define IN
#define OUT
#define GET 1
#define DELETE 2
#define TRUE 1
#define FALSE 0
#define assert(x)
#define ALIGN 8
#define own
#define PATCH 3
#define NEVER 4
#define now now_is_a_macro
#define size size_is_a_macro
#define kind kind_is_a_macro
#define data data_is_a_macro
#define name name_is_a_macro

#include <kubelease.h>

uint32_t header_kind_of_hostile_unit(void);
uint32_t header_kind_of_hostile_unit(void)
{
    kl_action action = KL_ACTION_INIT;
    action.kind = KL_ACTION_WAIT;
    return action.kind;
}
