// The C++ wrapper: compiled without exceptions and RTTI, and a life in short.
#include <cstdio>
#include <cstring>
#include <type_traits>

#include <kubelease.hpp>

static_assert(!std::is_copy_constructible<kubelease::Elector>::value, "an elector has one place");
static_assert(!std::is_move_constructible<kubelease::Elector>::value, "an elector has one place");
static_assert(std::is_nothrow_default_constructible<kubelease::Elector>::value, "no exceptions");

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            std::printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition);     \
            return 1;                                                                \
        }                                                                            \
    } while (0)

int main()
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
    std::printf("1 passed, 0 failed\n");
    return 0;
}
