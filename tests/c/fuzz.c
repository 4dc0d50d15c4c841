/* Any calls with any arguments, on valid storage: no crash, no code that is none, and the promises
   that hold whatever is called. For libFuzzer: `make -C tests/c fuzz`. */
#include <stdlib.h>
#include <string.h>

#include <kubelease.h>

/* Without link-time optimisation the library keeps its panic handler, and wants these two. */
void kl_panic_path_reachable(void);
void kl_panic_path_reachable(void)
{
    abort();
}

void rust_eh_personality(void);
void rust_eh_personality(void)
{
    abort();
}

static const uint8_t *input, *input_end;

static uint64_t take(size_t count)
{
    uint64_t value = 0;
    while (count-- > 0 && input < input_end)
        value = value << 8 | *input++;
    return value;
}

/* Up to 255 bytes of the input, as they are. */
static kl_str take_text(void)
{
    size_t length = (size_t)take(1);
    if (length > (size_t)(input_end - input))
        length = (size_t)(input_end - input);
    kl_str text = {(const char *)input, length};
    input += length;
    return text;
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

static kl_now clock_now = {0, KL_WALL_UNKNOWN};
static uint64_t latest; /* the largest instant so far */

static const kl_now *take_now(void)
{
    uint64_t kind = take(1);
    if (kind == 255)
        return NULL;
    if (kind >= 250)
        clock_now.mono_ms = take(8);
    else
        clock_now.mono_ms += take(kind % 3);
    if (clock_now.mono_ms > latest)
        latest = clock_now.mono_ms;
    clock_now.unix_us = kind % 7 == 0 ? (int64_t)take(8) : KL_WALL_UNKNOWN;
    return &clock_now;
}

static uint32_t pending;

static uint32_t take_id(void)
{
    return take(1) < 240 ? pending : (uint32_t)take(4);
}

/* A known code; a failure has changed no output. */
static bool good(kl_status status)
{
    require(status <= 0 && strcmp(kl_status_name(status), "KL_UNKNOWN") != 0);
    return status == KL_OK;
}

/* The object of this run: one of the two. */
static kl_elector elector;
static kl_heartbeat heart;
static bool is_heart;

#define CALL(call, ...)                                                             \
    (is_heart ? kl_heartbeat_##call(&heart, __VA_ARGS__)                            \
              : kl_elector_##call(&elector, __VA_ARGS__))

/* The texts of the input outlive the object. */
static void begin_elector(uint8_t *keep, size_t keep_len)
{
    kl_elector_config config;
    kl_elector_config_default(&config, sizeof config);
    config.namespace_ = KL_STR("n");
    config.name = KL_STR("l");
    config.identity = KL_STR("a");
    uint64_t change = take(1);
    if (change & 1) {
        config.namespace_ = take_text();
        config.name = take_text();
        config.identity = take_text();
    }
    if (change & 2) {
        config.lease_duration_ms = (uint32_t)take(3);
        config.renew_deadline_ms = (uint32_t)take(3);
        config.retry_period_ms = (uint32_t)take(2);
        config.request_timeout_ms = (uint32_t)take(2);
        config.jitter_percent = (uint32_t)take(2);
    }
    if (change & 4) {
        config.flags = (uint32_t)take(1);
        config.create = (uint32_t)take(1);
        config.release_budget_ms = (uint32_t)take(2);
    }
    if (change & 8) {
        config.write = (uint32_t)take(1);
        config.keep = keep;
        config.keep_len = keep_len;
    }
    good(kl_elector_init(&elector, sizeof elector, change & 16 ? NULL : &config, take_now()));
}

static void begin_heart(uint8_t *keep, size_t keep_len)
{
    kl_heartbeat_config config;
    kl_heartbeat_config_default(&config, sizeof config);
    config.namespace_ = KL_STR("n");
    config.name = config.holder = KL_STR("l");
    uint64_t change = take(1);
    if (change & 1) {
        config.namespace_ = take_text();
        config.name = take_text();
        config.holder = take_text();
    }
    if (change & 2) {
        config.lease_duration_ms = (uint32_t)take(3);
        config.interval_ms = (uint32_t)take(3);
        config.request_timeout_ms = (uint32_t)take(2);
        config.jitter_percent = (uint32_t)take(1);
        config.liveness_ttl_ms = (uint32_t)take(2);
    }
    if (change & 4) {
        config.flags = (uint32_t)take(1);
        config.create = (uint32_t)take(1);
        config.retire_budget_ms = (uint32_t)take(2);
    }
    if (change & 8) {
        config.write = (uint32_t)take(1);
        config.keep = keep;
        config.keep_len = keep_len;
    }
    if (change & 32)
        config.node = KL_STR("g");
    if (change & 64)
        config.node_uid = take_text();
    good(kl_heartbeat_init(&heart, sizeof heart, change & 16 ? NULL : &config, take_now()));
}

static void answer(uint32_t id)
{
    static const char *const bodies[] = {
        "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"l\"}}",
        "{\"kind\":\"Lease\",\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\"},\"spec\":{}}",
        "{\"kind\":\"Node\",\"metadata\":{\"name\":\"g\",\"uid\":\"u\"},\"status\":{\"conditions\":[{"
        "\"type\":\"Ready\",\"status\":\"False\"}]}}",
        "{\"kind\":\"Lease\",\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"8\",\"ownerReferences\":[{"
        "\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"g\",\"uid\":\"v\"}]},\"spec\":{"
        "\"holderIdentity\":\"l\",\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}}",
    };
    static const uint32_t statuses[] = {404, 200, 409, 201, 401, 403, 422, 429, 500};
    uint64_t which = take(1);
    uint32_t status = which < 200 ? statuses[which % 9] : (uint32_t)take(2);
    kl_str text = take_text();
    if (text.len == 0) {
        text.ptr = bodies[(which & 1) + (which >> 4 & 2)];
        text.len = strlen(text.ptr);
    }
    good(CALL(response_begin, id, status));
    if (which & 4)
        good(CALL(response_header, id, KL_STR("Date"), take_text()));
    size_t half = text.len / 2;
    good(CALL(response_body, id, (const uint8_t *)text.ptr, half));
    good(CALL(response_body, id, (const uint8_t *)text.ptr + half, text.len - half));
    if (which & 8)
        good(CALL(response_end, id, take_now()));
}

/* The request is the same without copies. */
static void compare_pieces(uint32_t id, uint32_t part, const uint8_t *whole, size_t length,
                           size_t room)
{
    kl_piece pieces[4];
    uint8_t scratch[KL_PIECES_SCRATCH];
    size_t have = 0, first = 0, count;
    do {
        require(good(CALL(request_pieces, id, part, first, pieces, room, scratch, sizeof scratch,
                          &count)));
        require(count <= room);
        for (size_t i = 0; i < count; have += pieces[i].len, i++) {
            require(pieces[i].len != 0 && pieces[i].len <= length - have);
            require(memcmp(whole + have, pieces[i].ptr, pieces[i].len) == 0);
        }
        first += count;
    } while (count != 0);
    require(have == length);
}

/* The request, whole and in two pieces, is the same. */
static void read_request(uint32_t id)
{
    static uint8_t whole[4096], pieces[4096];
    kl_request request = KL_REQUEST_INIT;
    uint32_t part = 1 + (uint32_t)take(1) % 3;
    size_t cut = (size_t)take(1), first = 0, second = 0, all = 0;
    if (!good(CALL(request, id, &request)) || part == 3)
        return;
    require(good(CALL(request_read, id, part, 0, whole, sizeof whole, &all)));
    require(all == (part == KL_PART_BODY ? request.body_len : request.target_len));
    require(good(CALL(request_read, id, part, 0, pieces, cut, &first)));
    require(good(
        CALL(request_read, id, part, first, pieces + first, sizeof pieces - first, &second)));
    require(first + second == all && memcmp(whole, pieces, all) == 0);
    compare_pieces(id, part, whole, all, 1 + cut % 4);
}

static void poll(void)
{
    kl_action action = KL_ACTION_INIT;
    const kl_now *now = take_now();
    if (!good(CALL(poll, now, &action)))
        return;
    require(strcmp(kl_action_name(action.kind), "KL_UNKNOWN") != 0);
    if (action.kind == KL_ACTION_SEND)
        pending = action.request_id;
    if (is_heart) {
        uint64_t beat = kl_heartbeat_last_beat(&heart);
        require(beat == KL_NEVER || beat <= latest);
        return;
    }
    if (action.kind == KL_ACTION_EVENT && action.event == KL_EVENT_STARTED_LEADING)
        require(kl_elector_leading_until(&elector) != 0);
    uint64_t until = kl_elector_leading_until(&elector);
    require(!kl_elector_is_leading(&elector, until));
    require(!kl_elector_is_leading(&elector, UINT64_MAX));
}

/* What only an elector has. */
static void ask_elector(void)
{
    kl_fence fence;
    kl_str leader;
    switch (take(1) % 5) {
    case 0: good(kl_elector_step_down(&elector, take_now(), take(2))); break;
    case 1: good(kl_elector_stop(&elector, take_now())); break;
    case 2: good(kl_elector_stop_when_idle(&elector, take_now())); break;
    case 3: good(kl_elector_work_done(&elector, take_now())); break;
    default:
        require(good(kl_elector_fence(&elector, &fence)) ==
                (kl_elector_leading_until(&elector) != 0));
        if (good(kl_elector_leader(&elector, &leader)))
            require(leader.len <= 253);
    }
}

/* What only a heart has. */
static void ask_heart(void)
{
    kl_str uid;
    switch (take(1) % 3) {
    case 0: good(kl_heartbeat_alive(&heart, take_now())); break;
    case 1: good(kl_heartbeat_retire(&heart, take_now(), (uint32_t)take(1) % 5)); break;
    default:
        if (good(kl_heartbeat_node_uid(&heart, &uid)))
            require(uid.len <= 40);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t keep[64];
    input = data;
    input_end = data + size;
    clock_now.mono_ms = latest = 0;
    uint64_t kind = take(1);
    is_heart = kind & 1;
    memset(&elector, (int)kind, sizeof elector);
    memset(&heart, (int)kind, sizeof heart);
    (is_heart ? begin_heart : begin_elector)(keep, (size_t)take(1) % sizeof keep);
    while (input < input_end) {
        kl_health health = KL_HEALTH_INIT;
        switch (take(1) % 12) {
        case 0: case 1: (is_heart ? ask_heart : ask_elector)(); break;
        case 2:
            good(CALL(transport_error, take_id(), (uint32_t)take(1) % 5, take_now()));
            break;
        case 3: read_request(take_id()); break;
        case 4: good(CALL(response_end, take_id(), take_now())); break;
        case 5: good(CALL(health, clock_now.mono_ms, &health)); break;
        case 6: case 7: case 8: answer(take_id()); break;
        default: poll();
        }
    }
    return 0;
}
