// kubelease for C++17: the same elector and heartbeat in types that cannot be misused as easily.
//
// Header only, over kubelease.h and the same library. No exceptions, no RTTI, no allocation.
// Everything that kubelease.h says about an elector or a heartbeat holds here too.
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

// What a heartbeat is told once. Texts are borrowed for the life of the heartbeat, not copied.
class HeartbeatConfig {
public:
    HeartbeatConfig(std::string_view name_space, std::string_view name,
                    std::string_view holder) noexcept
        : raw_()
    {
        kl_heartbeat_config_default(&raw_, sizeof raw_);
        raw_.namespace_ = to_str(name_space);
        raw_.name = to_str(name);
        raw_.holder = to_str(holder);
    }

    // The heartbeat of a Node, by kubelet's names; an empty uid is looked up.
    static HeartbeatConfig of_node(std::string_view name, std::string_view uid = {}) noexcept
    {
        HeartbeatConfig config("kube-node-lease", name, name);
        config.raw_.node = to_str(name);
        config.raw_.node_uid = to_str(uid);
        return config;
    }

    // Lease duration, and the time between beats; 0 for a quarter of it.
    HeartbeatConfig &timing(std::uint32_t lease_duration_ms,
                            std::uint32_t interval_ms = 0) noexcept
    {
        raw_.lease_duration_ms = lease_duration_ms;
        raw_.interval_ms = interval_ms;
        return *this;
    }

    // Beats only where alive() was called within this time.
    HeartbeatConfig &liveness(std::uint32_t ttl_ms) noexcept
    {
        raw_.liveness_ttl_ms = ttl_ms;
        return *this;
    }

    // Sets one more flag.
    HeartbeatConfig &flag(kl_heartbeat_flag flag) noexcept
    {
        raw_.flags |= static_cast<std::uint32_t>(flag);
        return *this;
    }

    HeartbeatConfig &seed(std::uint64_t seed) noexcept
    {
        raw_.seed = seed;
        return *this;
    }

    // KL_WRITE_UPDATE, with a buffer that nobody else uses while the heartbeat lives.
    template <std::size_t N>
    HeartbeatConfig &update(std::uint8_t (&keep)[N]) noexcept
    {
        raw_.write = KL_WRITE_UPDATE;
        raw_.keep = keep;
        raw_.keep_len = N;
        return *this;
    }

    // Everything else.
    kl_heartbeat_config &raw() noexcept { return raw_; }
    const kl_heartbeat_config &raw() const noexcept { return raw_; }

private:
    kl_heartbeat_config raw_;
};

// What an elector or heartbeat wants next. Where its poll failed, kind is KL_ACTION_STOPPED and
// status says why.
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
    template <class Calls>
    friend class Exchange;
    explicit Request(std::uint32_t id) noexcept : id_(id), raw_(KL_REQUEST_INIT) {}

    std::uint32_t id_;
    kl_request raw_;
};

// What pieces of a request lie in that lie nowhere else.
struct Scratch {
    std::uint8_t bytes[KL_PIECES_SCRATCH];
};

// The functions of an elector that a heartbeat has, too.
struct ElectorCalls {
    using Object = kl_elector;
    using Config = kubelease::Config;
    static constexpr auto init = kl_elector_init;
    static constexpr auto poll = kl_elector_poll;
    static constexpr auto request = kl_elector_request;
    static constexpr auto request_read = kl_elector_request_read;
    static constexpr auto request_pieces = kl_elector_request_pieces;
    static constexpr auto response_begin = kl_elector_response_begin;
    static constexpr auto response_header = kl_elector_response_header;
    static constexpr auto response_body = kl_elector_response_body;
    static constexpr auto response_end = kl_elector_response_end;
    static constexpr auto transport_error = kl_elector_transport_error;
    static constexpr auto health = kl_elector_health;
    static constexpr auto set_log = kl_elector_set_log;
};

struct HeartbeatCalls {
    using Object = kl_heartbeat;
    using Config = HeartbeatConfig;
    static constexpr auto init = kl_heartbeat_init;
    static constexpr auto poll = kl_heartbeat_poll;
    static constexpr auto request = kl_heartbeat_request;
    static constexpr auto request_read = kl_heartbeat_request_read;
    static constexpr auto request_pieces = kl_heartbeat_request_pieces;
    static constexpr auto response_begin = kl_heartbeat_response_begin;
    static constexpr auto response_header = kl_heartbeat_response_header;
    static constexpr auto response_body = kl_heartbeat_response_body;
    static constexpr auto response_end = kl_heartbeat_response_end;
    static constexpr auto transport_error = kl_heartbeat_transport_error;
    static constexpr auto health = kl_heartbeat_health;
    static constexpr auto set_log = kl_heartbeat_set_log;
};

// What an elector and a heartbeat have in common: they are polled, ask and are answered. It lives
// where it stands: it is neither copied nor moved. At its end the storage is cleared.
template <class Calls>
class Exchange {
public:
    using Object = typename Calls::Object;

    Exchange(const Exchange &) = delete;
    Exchange &operator=(const Exchange &) = delete;

    Status init(const typename Calls::Config &config, Now now) noexcept
    {
        const kl_now at = now.raw();
        return Calls::init(&raw_, sizeof raw_, &config.raw(), &at);
    }

    [[nodiscard]] Action poll(Now now) noexcept
    {
        const kl_now at = now.raw();
        Action action;
        action.status = Calls::poll(&raw_, &at, &action);
        if (!action.status)
            action.kind = KL_ACTION_STOPPED;
        return action;
    }

    // Empty where the request is not in flight any more.
    [[nodiscard]] std::optional<Request> request(std::uint32_t id) const noexcept
    {
        Request request(id);
        if (Calls::request(&raw_, id, &request.raw_) != KL_OK)
            return std::nullopt;
        return request;
    }

    // How many bytes of the part (KL_PART_TARGET or KL_PART_BODY) were written, from offset on.
    [[nodiscard]] std::size_t read(const Request &request, kl_request_part part,
                                   std::size_t offset, char *buffer,
                                   std::size_t capacity) const noexcept
    {
        std::size_t written = 0;
        const kl_status status = Calls::request_read(
            &raw_, request.id(), static_cast<std::uint32_t>(part), offset,
            reinterpret_cast<std::uint8_t *>(buffer), capacity, &written);
        return status == KL_OK ? written : 0;
    }

    // How many pieces of the part there are from the piece first on, as far as pieces takes them;
    // 0 past the last. They are good until the next call that changes the object, and while scratch
    // is left alone.
    template <std::size_t N>
    [[nodiscard]] std::size_t pieces(const Request &request, kl_request_part part,
                                     std::size_t first, kl_piece (&pieces)[N],
                                     Scratch &scratch) const noexcept
    {
        std::size_t count = 0;
        const kl_status status = Calls::request_pieces(
            &raw_, request.id(), static_cast<std::uint32_t>(part), first, pieces, N,
            scratch.bytes, sizeof scratch.bytes, &count);
        return status == KL_OK ? count : 0;
    }

    Status response_begin(std::uint32_t id, std::uint32_t http_status) noexcept
    {
        return Calls::response_begin(&raw_, id, http_status);
    }

    Status response_header(std::uint32_t id, std::string_view name, std::string_view value) noexcept
    {
        return Calls::response_header(&raw_, id, to_str(name), to_str(value));
    }

    Status response_body(std::uint32_t id, std::string_view piece) noexcept
    {
        return Calls::response_body(
            &raw_, id, reinterpret_cast<const std::uint8_t *>(piece.data()), piece.size());
    }

    Status response_end(std::uint32_t id, Now now) noexcept
    {
        const kl_now at = now.raw();
        return Calls::response_end(&raw_, id, &at);
    }

    Status transport_error(std::uint32_t id, kl_transport_error kind, Now now) noexcept
    {
        const kl_now at = now.raw();
        return Calls::transport_error(&raw_, id, static_cast<std::uint32_t>(kind), &at);
    }

    [[nodiscard]] kl_health health(std::uint64_t mono_ms) const noexcept
    {
        kl_health health = KL_HEALTH_INIT;
        static_cast<void>(Calls::health(&raw_, mono_ms, &health));
        return health;
    }

    Status set_log(kl_log_fn log, void *user) noexcept
    {
        return Calls::set_log(&raw_, log, user);
    }

    // For functions that this class has none for.
    Object *raw() noexcept { return &raw_; }

protected:
    Exchange() noexcept : raw_() {}
    ~Exchange() { raw_ = Object(); }

    Object raw_;
};

// An elector. A Lease that it holds at its end runs out by itself, so stop() and poll to the end
// before.
class Elector : public Exchange<ElectorCalls> {
public:
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
};

// A heartbeat. At its end the Lease runs out, so retire() and poll to the end before where it is to
// be otherwise.
class Heartbeat : public Exchange<HeartbeatCalls> {
public:
    // The host is alive: with liveness(), beats are allowed from now on for as long.
    Status alive(Now now) noexcept
    {
        const kl_now at = now.raw();
        return kl_heartbeat_alive(&raw_, &at);
    }

    Status retire(Now now, kl_retire how) noexcept
    {
        const kl_now at = now.raw();
        return kl_heartbeat_retire(&raw_, &at, static_cast<std::uint32_t>(how));
    }

    // Empty where no beat was acknowledged.
    [[nodiscard]] std::optional<std::uint64_t> last_beat() const noexcept
    {
        const std::uint64_t at = kl_heartbeat_last_beat(&raw_);
        return at == KL_NEVER ? std::nullopt : std::optional<std::uint64_t>(at);
    }

    // Empty where it is not known. Good until the next call that changes the heartbeat.
    [[nodiscard]] std::string_view node_uid() const noexcept
    {
        kl_str uid = {nullptr, 0};
        return kl_heartbeat_node_uid(&raw_, &uid) == KL_OK ? to_view(uid) : std::string_view();
    }
};

} // namespace kubelease

#endif
