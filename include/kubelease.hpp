// kubelease for C++17: the same elector in a type that cannot be misused as easily.
//
// Header only, over kubelease.h and the same library. No exceptions, no RTTI, no allocation.
// Everything that kubelease.h says about an elector holds here too.
//
//     kubelease::Config config("default", "my-agent", identity);
//     config.timing(60000, 40000, 5000);
//     kubelease::Elector elector;
//     if (auto status = elector.init(config, now()); !status) return complain(status.name());
//     for (;;) {
//         kubelease::Action action = elector.poll(now());
//         switch (action.kind) { ... }
//         if (elector.is_leading(now().mono_ms)) step_of_work();
//     }

#ifndef KUBELEASE_HPP
#define KUBELEASE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kubelease.h"

namespace kubelease {

// What a call answered.
class [[nodiscard]] Status {
public:
    constexpr Status(kl_status code) noexcept : code_(code) {}
    // Whether it was done.
    constexpr explicit operator bool() const noexcept { return code_ == KL_OK; }
    constexpr kl_status code() const noexcept { return code_; }
    // Such as KL_ERR_NAME; static.
    const char *name() const noexcept { return kl_status_name(code_); }
    // For the rare call whose answer does not matter.
    constexpr void ignore() const noexcept {}

private:
    kl_status code_;
};

// The clocks of a moment; see kl_now.
struct Now {
    std::uint64_t mono_ms;
    std::optional<std::int64_t> unix_us;

    constexpr kl_now raw() const noexcept { return {mono_ms, unix_us.value_or(KL_WALL_UNKNOWN)}; }
};

inline constexpr kl_str to_str(std::string_view text) noexcept
{
    return {text.data(), text.size()};
}

inline constexpr std::string_view to_view(kl_str text) noexcept
{
    return text.len == 0 ? std::string_view() : std::string_view(text.ptr, text.len);
}

// What an elector is told once. Texts are borrowed for the life of the elector, not copied.
class Config {
public:
    Config(std::string_view name_space, std::string_view name, std::string_view identity) noexcept
        : raw_()
    {
        kl_elector_config_default(&raw_, sizeof raw_);
        raw_.namespace_ = to_str(name_space);
        raw_.name = to_str(name);
        raw_.identity = to_str(identity);
    }

    // Lease duration, renew deadline and retry period; the request timeout follows from them.
    Config &timing(std::uint32_t lease_duration_ms, std::uint32_t renew_deadline_ms,
                   std::uint32_t retry_period_ms) noexcept
    {
        raw_.lease_duration_ms = lease_duration_ms;
        raw_.renew_deadline_ms = renew_deadline_ms;
        raw_.retry_period_ms = retry_period_ms;
        return *this;
    }

    Config &seed(std::uint64_t seed) noexcept
    {
        raw_.seed = seed;
        return *this;
    }

    // KL_WRITE_UPDATE, with a buffer that nobody else uses while the elector lives.
    template <std::size_t N>
    Config &update(std::uint8_t (&keep)[N]) noexcept
    {
        raw_.write = KL_WRITE_UPDATE;
        raw_.keep = keep;
        raw_.keep_len = N;
        return *this;
    }

    // Everything else.
    kl_elector_config &raw() noexcept { return raw_; }
    const kl_elector_config &raw() const noexcept { return raw_; }

private:
    kl_elector_config raw_;
};

// What an elector wants next. Where its poll failed, kind is KL_ACTION_STOPPED and status says why.
struct Action : kl_action {
    Action() noexcept : kl_action(KL_ACTION_INIT) {}
    Status status = KL_OK;
};

// A request that waits to be sent.
class Request {
public:
    std::uint32_t id() const noexcept { return id_; }
    std::uint32_t method() const noexcept { return raw_.method; }
    std::string_view method_name() const noexcept { return to_view(raw_.method_name); }
    std::string_view content_type() const noexcept { return to_view(raw_.content_type); }
    std::string_view accept() const noexcept { return to_view(raw_.accept); }
    std::size_t target_size() const noexcept { return raw_.target_len; }
    std::size_t body_size() const noexcept { return raw_.body_len; }

private:
    friend class Elector;
    explicit Request(std::uint32_t id) noexcept : id_(id), raw_(KL_REQUEST_INIT) {}

    std::uint32_t id_;
    kl_request raw_;
};

// An elector. It lives where it stands: it is neither copied nor moved. At its end the storage is
// cleared; a Lease that is held then runs out by itself, so stop() and poll to the end before.
class Elector {
public:
    Elector() noexcept : raw_() {}
    ~Elector() { raw_ = kl_elector(); }
    Elector(const Elector &) = delete;
    Elector &operator=(const Elector &) = delete;

    Status init(const Config &config, Now now) noexcept
    {
        const kl_now at = now.raw();
        return kl_elector_init(&raw_, sizeof raw_, &config.raw(), &at);
    }

    [[nodiscard]] Action poll(Now now) noexcept
    {
        const kl_now at = now.raw();
        Action action;
        action.status = kl_elector_poll(&raw_, &at, &action);
        if (!action.status)
            action.kind = KL_ACTION_STOPPED;
        return action;
    }

    // Empty where the request is not in flight any more.
    [[nodiscard]] std::optional<Request> request(std::uint32_t id) const noexcept
    {
        Request request(id);
        if (kl_elector_request(&raw_, id, &request.raw_) != KL_OK)
            return std::nullopt;
        return request;
    }

    // How many bytes of the part (KL_PART_TARGET or KL_PART_BODY) were written, from offset on.
    [[nodiscard]] std::size_t read(const Request &request, kl_request_part part,
                                   std::size_t offset, char *buffer,
                                   std::size_t capacity) const noexcept
    {
        std::size_t written = 0;
        const kl_status status = kl_elector_request_read(
            &raw_, request.id(), static_cast<std::uint32_t>(part), offset,
            reinterpret_cast<std::uint8_t *>(buffer), capacity, &written);
        return status == KL_OK ? written : 0;
    }

    Status response_begin(std::uint32_t id, std::uint32_t http_status) noexcept
    {
        return kl_elector_response_begin(&raw_, id, http_status);
    }

    Status response_header(std::uint32_t id, std::string_view name, std::string_view value) noexcept
    {
        return kl_elector_response_header(&raw_, id, to_str(name), to_str(value));
    }

    Status response_body(std::uint32_t id, std::string_view piece) noexcept
    {
        return kl_elector_response_body(
            &raw_, id, reinterpret_cast<const std::uint8_t *>(piece.data()), piece.size());
    }

    // Turns watch mode on; bodies then go to response_body_at.
    Status watch() noexcept
    {
        return kl_elector_watch(&raw_);
    }

    Status response_body_at(std::uint32_t id, std::string_view piece, Now now) noexcept
    {
        const kl_now at = now.raw();
        return kl_elector_response_body_at(
            &raw_, id, reinterpret_cast<const std::uint8_t *>(piece.data()), piece.size(), &at);
    }

    Status response_end(std::uint32_t id, Now now) noexcept
    {
        const kl_now at = now.raw();
        return kl_elector_response_end(&raw_, id, &at);
    }

    Status transport_error(std::uint32_t id, kl_transport_error kind, Now now) noexcept
    {
        const kl_now at = now.raw();
        return kl_elector_transport_error(&raw_, id, static_cast<std::uint32_t>(kind), &at);
    }

    Status step_down(Now now, std::uint64_t cooldown_ms) noexcept
    {
        const kl_now at = now.raw();
        return kl_elector_step_down(&raw_, &at, cooldown_ms);
    }

    Status stop(Now now) noexcept
    {
        const kl_now at = now.raw();
        return kl_elector_stop(&raw_, &at);
    }

    Status stop_when_idle(Now now) noexcept
    {
        const kl_now at = now.raw();
        return kl_elector_stop_when_idle(&raw_, &at);
    }

    Status work_done(Now now) noexcept
    {
        const kl_now at = now.raw();
        return kl_elector_work_done(&raw_, &at);
    }

    [[nodiscard]] bool is_leading(std::uint64_t mono_ms) const noexcept
    {
        return kl_elector_is_leading(&raw_, mono_ms);
    }

    // Empty where this process does not lead.
    [[nodiscard]] std::optional<std::uint64_t> leading_until() const noexcept
    {
        const std::uint64_t until = kl_elector_leading_until(&raw_);
        return until == 0 ? std::nullopt : std::optional<std::uint64_t>(until);
    }

    [[nodiscard]] std::uint64_t term() const noexcept { return kl_elector_term(&raw_); }

    // Empty where nobody is known. Good until the next call that changes the elector.
    [[nodiscard]] std::string_view leader() const noexcept
    {
        kl_str identity = {nullptr, 0};
        return kl_elector_leader(&raw_, &identity) == KL_OK ? to_view(identity)
                                                            : std::string_view();
    }

    // Empty where this process does not lead.
    [[nodiscard]] std::optional<kl_fence> fence() const noexcept
    {
        kl_fence fence;
        if (kl_elector_fence(&raw_, &fence) != KL_OK)
            return std::nullopt;
        return fence;
    }

    [[nodiscard]] kl_health health(std::uint64_t mono_ms) const noexcept
    {
        kl_health health = KL_HEALTH_INIT;
        static_cast<void>(kl_elector_health(&raw_, mono_ms, &health));
        return health;
    }

    Status set_log(kl_log_fn log, void *user) noexcept
    {
        return kl_elector_set_log(&raw_, log, user);
    }

    // For functions that this class has none for.
    kl_elector *raw() noexcept { return &raw_; }

private:
    kl_elector raw_;
};

} // namespace kubelease

#endif
