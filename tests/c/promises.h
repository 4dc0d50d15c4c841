/* What an elector and a heartbeat promise alike about their arguments, whatever they are.
 *
 * Include it with OBJECT, the type, and CALL(name), a function of it, and define what is declared
 * first below. PROMISES are the tests in here. */
#ifndef PROMISES_H
#define PROMISES_H

#include "check.h"

#include <kubelease.h>

#include <string.h>

static const kl_now AT_0 = {0, KL_WALL_UNKNOWN};

/* An object of good configuration, at AT_0, in storage of that many bytes. */
static kl_status make(OBJECT *object, size_t size);

/* Each function that only this kind has, on `object`, with good arguments otherwise: all say
   `code`, or what stands for it. */
static int own_refuse(OBJECT *object, kl_status code);

/* The same for all functions, and nothing is written. */
static int all_refuse(OBJECT *object, kl_status code)
{
    kl_action action = KL_ACTION_INIT;
    kl_request request = KL_REQUEST_INIT;
    kl_health health = KL_HEALTH_INIT;
    uint8_t buffer[8], scratch[KL_PIECES_SCRATCH];
    size_t written = 77;
    CHECK_INT(CALL(poll)(object, &AT_0, &action), code);
    CHECK_INT(action.kind, 0);
    CHECK_INT(CALL(request)(object, 1, &request), code);
    CHECK_INT(request.method, 0);
    CHECK_INT(CALL(request_read)(object, 1, KL_PART_BODY, 0, buffer, 8, &written), code);
    CHECK_INT(written, 77);
    CHECK_INT(CALL(request_pieces)(object, 1, KL_PART_BODY, 0, NULL, 0, scratch, sizeof scratch,
                                   &written),
              code);
    CHECK_INT(written, 77);
    CHECK_INT(CALL(response_begin)(object, 1, 200), code);
    CHECK_INT(CALL(response_header)(object, 1, KL_STR("Date"), KL_STR("")), code);
    CHECK_INT(CALL(response_body)(object, 1, buffer, 0), code);
    CHECK_INT(CALL(response_end)(object, 1, &AT_0), code);
    CHECK_INT(CALL(transport_error)(object, 1, KL_TRANSPORT_UNKNOWN, &AT_0), code);
    CHECK_INT(CALL(health)(object, 0, &health), code);
    CHECK_INT(health.state, 0);
    CHECK_INT(CALL(set_log)(object, NULL, NULL), code);
    return own_refuse(object, code);
}

/* A live object whose first request, 0 < *id, is in flight. */
static int begin(OBJECT *object, uint32_t *id)
{
    kl_action action = KL_ACTION_INIT;
    CHECK_INT(make(object, sizeof *object), KL_OK);
    CHECK_INT(CALL(poll)(object, &AT_0, &action), KL_OK);
    CHECK_INT(action.kind, KL_ACTION_SEND);
    *id = action.request_id;
    return 1;
}

static int no_object_is_an_answer_and_no_crash(void)
{
    static OBJECT zeroed, ones;
    memset(&ones, 0xff, sizeof ones);
    return all_refuse(NULL, KL_ERR_ARG) && all_refuse(&zeroed, KL_ERR_NOT_INIT) &&
           all_refuse(&ones, KL_ERR_NOT_INIT);
}

static int misaligned_storage_is_refused(void)
{
    static union {
        OBJECT aligned[2];
        unsigned char bytes[2 * sizeof(OBJECT)];
    } room;
    void *misaligned = room.bytes + 1;
    CHECK_INT(make(misaligned, sizeof(OBJECT)), KL_ERR_STORAGE);
    return all_refuse(misaligned, KL_ERR_STORAGE);
}

/* The first two pieces. */
static kl_status take_pieces(const OBJECT *object, uint32_t id, uint32_t part, uint8_t *scratch,
                             size_t size, size_t *count)
{
    kl_piece pieces[2];
    return CALL(request_pieces)(object, id, part, 0, pieces, 2, scratch, size, count);
}

static int each_null_is_refused(void)
{
    uint8_t scratch[KL_PIECES_SCRATCH];
    OBJECT object;
    kl_action action = KL_ACTION_INIT;
    kl_str none = {NULL, 3};
    uint32_t id;
    size_t written;
    uint8_t buffer[4];
    CHECK_INT(make(NULL, sizeof object), KL_ERR_ARG);
    CHECK(begin(&object, &id));
    CHECK_INT(CALL(poll)(&object, NULL, &action), KL_ERR_ARG);
    CHECK_INT(CALL(poll)(&object, &AT_0, NULL), KL_ERR_ARG);
    CHECK_INT(CALL(request)(&object, id, NULL), KL_ERR_ARG);
    CHECK_INT(CALL(request_read)(&object, id, KL_PART_BODY, 0, NULL, 4, &written), KL_ERR_ARG);
    CHECK_INT(CALL(request_read)(&object, id, KL_PART_BODY, 0, buffer, 4, NULL), KL_ERR_ARG);
    CHECK_INT(CALL(request_read)(&object, id, KL_PART_BODY, 0, NULL, 0, &written), KL_OK);
    CHECK_INT(take_pieces(&object, id, 1, scratch, sizeof scratch, NULL), KL_ERR_ARG);
    CHECK_INT(take_pieces(&object, id, 1, NULL, sizeof scratch, &written), KL_ERR_ARG);
    CHECK_INT(take_pieces(&object, id, 1, scratch, sizeof scratch - 1, &written), KL_ERR_ARG);
    CHECK_INT(take_pieces(&object, id, 3, scratch, sizeof scratch, &written), KL_ERR_ARG);
    CHECK_INT(take_pieces(&object, id + 1, 1, scratch, sizeof scratch, &written), KL_ERR_STALE);
    CHECK_INT(CALL(request_pieces)(&object, id, 1, 0, NULL, 1, scratch, sizeof scratch, &written),
              KL_ERR_ARG);
    CHECK_INT(take_pieces(&object, id, 1, scratch, sizeof scratch, &written), KL_OK);
    CHECK_INT(written, 2);
    CHECK_INT(CALL(response_begin)(&object, id, 200), KL_OK);
    CHECK_INT(CALL(response_header)(&object, id, none, KL_STR("x")), KL_ERR_ARG);
    CHECK_INT(CALL(response_header)(&object, id, KL_STR("x"), none), KL_ERR_ARG);
    CHECK_INT(CALL(response_body)(&object, id, NULL, 1), KL_ERR_ARG);
    CHECK_INT(CALL(response_body)(&object, id, NULL, 0), KL_OK);
    CHECK_INT(CALL(response_body)(&object, id, buffer, SIZE_MAX), KL_ERR_ARG);
    CHECK_INT(CALL(response_end)(&object, id, NULL), KL_ERR_ARG);
    CHECK_INT(CALL(transport_error)(&object, id, KL_TRANSPORT_UNKNOWN, NULL), KL_ERR_ARG);
    CHECK_INT(CALL(health)(&object, 0, NULL), KL_ERR_ARG);
    /* After all that the request still waits for its answer. */
    CHECK_INT(CALL(transport_error)(&object, id, KL_TRANSPORT_NOT_SENT, &AT_0), KL_OK);
    return 1;
}

static int sizes_of_outputs_say_which_release_the_caller_knows(void)
{
    struct {
        kl_action known;
        uint64_t later;
    } action;
    OBJECT object;
    kl_health health = KL_HEALTH_INIT;
    CHECK(CALL(size)() <= sizeof object && CALL(size)() > 64);
    CHECK_INT(make(&object, CALL(size)() - 1), KL_ERR_STORAGE);
    CHECK_INT(make(&object, CALL(size)()), KL_OK);
    action.known.size = sizeof action;
    action.later = 0x5a5a5a5a;
    CHECK_INT(CALL(poll)(&object, &AT_0, &action.known), KL_OK);
    CHECK_INT(action.later, 0x5a5a5a5a);
    CHECK_INT(action.known.size, sizeof action.known);
    action.known.size = 0;
    CHECK_INT(CALL(poll)(&object, &AT_0, &action.known), KL_ERR_SIZE);
    health.size = 3;
    CHECK_INT(CALL(health)(&object, 0, &health), KL_ERR_SIZE);
    return 1;
}

static int calls_out_of_order_and_wrong_ids_change_nothing(void)
{
    OBJECT object;
    kl_request request = KL_REQUEST_INIT;
    uint32_t id;
    size_t written = 5;
    CHECK(begin(&object, &id));
    CHECK_INT(CALL(request)(&object, id + 1, &request), KL_ERR_STALE);
    CHECK_INT(CALL(request_read)(&object, id, 3, 0, NULL, 0, &written), KL_ERR_ARG);
    CHECK_INT(written, 5);
    CHECK_INT(CALL(response_header)(&object, id, KL_STR("a"), KL_STR("b")), KL_ERR_STALE);
    CHECK_INT(CALL(response_body)(&object, id, (const uint8_t *)"{", 1), KL_ERR_STALE);
    CHECK_INT(CALL(response_end)(&object, id, &AT_0), KL_ERR_STALE);
    CHECK_INT(CALL(response_begin)(&object, id + 1, 200), KL_ERR_STALE);
    CHECK_INT(CALL(response_begin)(&object, id, 99), KL_ERR_ARG);
    CHECK_INT(CALL(response_begin)(&object, id, 1000), KL_ERR_ARG);
    CHECK_INT(CALL(response_begin)(&object, id, UINT32_MAX), KL_ERR_ARG);
    CHECK_INT(CALL(transport_error)(&object, id, 0, &AT_0), KL_ERR_ARG);
    CHECK_INT(CALL(transport_error)(&object, id, 4, &AT_0), KL_ERR_ARG);
    CHECK_INT(CALL(transport_error)(&object, id + 1, 1, &AT_0), KL_ERR_STALE);
    CHECK_INT(CALL(request)(&object, id, &request), KL_OK);
    CHECK_INT(request.method, KL_METHOD_GET);
    CHECK_INT(request.body_len, 0);
    CHECK_INT(request.content_type.len, 0);
    return 1;
}

struct reentered {
    OBJECT object;
    int good;
};

/* Calls everything on the object whose hook it is. */
static void reentering_hook(void *user, uint32_t level, uint32_t code, uint64_t a, uint64_t b)
{
    struct reentered *reentered = user;
    (void)level, (void)code, (void)a, (void)b;
    reentered->good =
        all_refuse(&reentered->object, KL_ERR_REENTRANT) ? reentered->good + 1 : -1000;
}

static int a_call_from_the_hook_is_refused(void)
{
    static struct reentered reentered;
    uint32_t id;
    CHECK(begin(&reentered.object, &id));
    CHECK_INT(CALL(set_log)(&reentered.object, reentering_hook, &reentered), KL_OK);
    CHECK_INT(CALL(transport_error)(&reentered.object, id, KL_TRANSPORT_UNKNOWN, &AT_0), KL_OK);
    CHECK_INT(reentered.good, 1);
    CHECK_INT(CALL(set_log)(&reentered.object, NULL, NULL), KL_OK);
    return 1;
}

#define PROMISES                                                                                \
    {"no object is an answer and no crash", no_object_is_an_answer_and_no_crash},               \
        {"misaligned storage is refused", misaligned_storage_is_refused},                       \
        {"each NULL is refused", each_null_is_refused},                                         \
        {"sizes of outputs say which release the caller knows",                                 \
         sizes_of_outputs_say_which_release_the_caller_knows},                                  \
        {"calls out of order and wrong ids change nothing",                                     \
         calls_out_of_order_and_wrong_ids_change_nothing},                                      \
    {                                                                                           \
        "a call from the hook is refused", a_call_from_the_hook_is_refused                      \
    }

#endif
