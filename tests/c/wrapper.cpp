// The C++ wrapper: compiled without exceptions and RTTI, and a life in short.
#include <cstdio>
#include <cstring>
#include <type_traits>

#include <kubelease.hpp>

static_assert(!std::is_copy_constructible<kubelease::Elector>::value, "an elector has one place");
static_assert(!std::is_move_constructible<kubelease::Elector>::value, "an elector has one place");
static_assert(std::is_nothrow_default_constructible<kubelease::Elector>::value, "no exceptions");
static_assert(!std::is_copy_constructible<kubelease::Heartbeat>::value, "a heart has one place");
static_assert(!std::is_move_constructible<kubelease::Heartbeat>::value, "a heart has one place");
static_assert(std::is_nothrow_default_constructible<kubelease::Heartbeat>::value, "no exceptions");
static_assert(sizeof(kubelease::Heartbeat) == sizeof(kl_heartbeat), "nothing is added");

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            std::printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition);     \
            return false;                                                            \
        }                                                                            \
    } while (0)

static bool an_elector_in_short()
{
    static const char missing[] =
        "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"l\"}}";
    const kubelease::Now now{1000, std::nullopt};
    kubelease::Elector elector;
    CHECK(elector.poll(now).status.code() == KL_ERR_NOT_INIT);
    CHECK(!elector.init(kubelease::Config("n", "UPPER", "ada"), now));
    const kubelease::Config nameless("n", "", "ada");
    CHECK(std::strcmp(elector.init(nameless, now).name(), "KL_ERR_NAME") == 0);
    kubelease::Config config("n", "l", "ada");
    config.timing(60000, 40000, 5000).seed(1);
    CHECK(elector.init(config, now));
    auto action = elector.poll(now);
    CHECK(action.status && action.kind == KL_ACTION_SEND);
    const auto get = elector.request(action.request_id);
    CHECK(get && get->method_name() == "GET" && get->body_size() == 0);
    CHECK(!elector.request(action.request_id + 1));
    CHECK(elector.response_begin(get->id(), 404));
    CHECK(elector.response_header(get->id(), "Date", "Thu, 01 Jan 2026 00:00:00 GMT"));
    CHECK(elector.response_body(get->id(), missing));
    CHECK(elector.response_end(get->id(), now));
    action = elector.poll(now);
    CHECK(action.kind == KL_ACTION_SEND);
    const auto post = elector.request(action.request_id);
    CHECK(post && post->method_name() == "POST" && post->content_type() == "application/json");
    char body[512];
    const auto length = elector.read(*post, KL_PART_BODY, 0, body, sizeof body);
    CHECK(length == post->body_size());
    const std::string_view text(body, length);
    CHECK(text.find("\"holderIdentity\":\"ada\"") != std::string_view::npos);
    CHECK(elector.transport_error(post->id(), KL_TRANSPORT_NOT_SENT, now));
    CHECK(!elector.is_leading(1000) && !elector.leading_until() && !elector.fence());
    CHECK(elector.leader().empty() && elector.term() == 0);
    CHECK(elector.health(1000).state == KL_HEALTH_OK);
    CHECK(elector.step_down(now, 10) && elector.stop_when_idle(now) && elector.work_done(now));
    CHECK(elector.stop(now));
    return true;
}

static bool a_heart_in_short()
{
    const kubelease::Now now{1000, 1767225600000000};
    kubelease::Heartbeat heart;
    CHECK(heart.poll(now).status.code() == KL_ERR_NOT_INIT && !heart.last_beat());
    const kubelease::HeartbeatConfig upper("n", "UPPER", "gw1");
    CHECK(std::strcmp(heart.init(upper, now).name(), "KL_ERR_NAME") == 0);
    std::uint8_t keep[256];
    auto config = kubelease::HeartbeatConfig::of_node("gw1", "n1");
    config.timing(60000, 20000).liveness(9000).flag(KL_HEARTBEAT_AT_ONCE).seed(1).update(keep);
    CHECK(config.raw().write == KL_WRITE_UPDATE && config.raw().keep_len == 256);
    CHECK(heart.init(config, now) && heart.health(1000).state == KL_HEALTH_NOT_ALIVE);
    CHECK(heart.alive(now));
    auto action = heart.poll(now);
    CHECK(action.status && action.kind == KL_ACTION_SEND);
    const auto get = heart.request(action.request_id);
    CHECK(get && get->method_name() == "GET" && !heart.request(action.request_id + 1));
    char text[512];
    std::size_t length = heart.read(*get, KL_PART_TARGET, 0, text, sizeof text);
    static const std::string_view target =
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/gw1?timeout=";
    CHECK(length == get->target_size());
    CHECK(std::string_view(text, length).find(target) == 0);
    CHECK(heart.response_begin(get->id(), 200));
    CHECK(heart.response_body(get->id(), "{\"kind\":\"Lease\",\"metadata\":{\"uid\":\"u\","
                                         "\"resourceVersion\":\"7\"},\"spec\":{"
                                         "\"holderIdentity\":\"gw1\"}}"));
    CHECK(heart.response_end(get->id(), now));
    action = heart.poll(now);
    const auto put = heart.request(action.request_id);
    CHECK(action.kind == KL_ACTION_SEND && put && put->method_name() == "PUT");
    length = heart.read(*put, KL_PART_BODY, 0, text, sizeof text);
    CHECK(std::string_view(text, length).find("2026-01-01T00:00:00") != std::string_view::npos);
    kl_piece pieces[5];
    kubelease::Scratch scratch;
    std::size_t same = 0;
    for (std::size_t first = 0, count = 1; count != 0; first += count) {
        count = heart.pieces(*put, KL_PART_BODY, first, pieces, scratch);
        for (std::size_t i = 0; i < count; same += pieces[i++].len)
            CHECK(std::memcmp(text + same, pieces[i].ptr, pieces[i].len) == 0);
    }
    CHECK(same == length);
    CHECK(heart.transport_error(put->id(), KL_TRANSPORT_NOT_SENT, now));
    CHECK(heart.node_uid() == "n1");
    CHECK(heart.retire(now, KL_RETIRE_KEEP));
    action = heart.poll(now);
    CHECK(action.event == KL_EVENT_FINISHED && action.reason == KL_FINISH_KEPT);
    CHECK(heart.poll(now).kind == KL_ACTION_STOPPED);
    return true;
}

int main()
{
    const bool passed[] = {an_elector_in_short(), a_heart_in_short()};
    const int good = passed[0] + passed[1];
    std::printf("%d passed, %d failed\n", good, 2 - good);
    return good == 2 ? 0 : 1;
}
