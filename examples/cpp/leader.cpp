// An agent that does a step of work each second while it leads, with libcurl and the C++ wrapper.
//
//   leader SERVER-URL [IDENTITY]
//
// SIGTERM and SIGINT give the Lease up. Requests block this thread, never past their deadline: the
// simplest loop that is right. For one that works meanwhile see ../c/leader_curl.c.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <curl/curl.h>
#include <time.h>
#include <unistd.h>

#include <kubelease.hpp>

namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

extern "C" void on_signal(int) { asked_to_stop = 1; }

kubelease::Now now()
{
    timespec mono, wall;
    clock_gettime(CLOCK_BOOTTIME, &mono);
    clock_gettime(CLOCK_REALTIME, &wall);
    const auto of = [](const timespec &time, std::uint64_t units, long nanos_each) {
        return static_cast<std::uint64_t>(time.tv_sec) * units +
               static_cast<std::uint64_t>(time.tv_nsec / nanos_each);
    };
    return {of(mono, 1000, 1000000), static_cast<std::int64_t>(of(wall, 1000000, 1000))};
}

// The pod's token, or nothing; it rotates, so it is read each time.
std::string token()
{
    std::ifstream file("/var/run/secrets/kubernetes.io/serviceaccount/token");
    std::string text;
    std::getline(file, text);
    return text;
}

// One connection to the API server, and the answer that comes over it.
class Transport {
public:
    Transport(kubelease::Elector &elector, std::string server)
        : elector_(elector), server_(std::move(server))
    {
    }
    ~Transport() { drop(); }
    Transport(const Transport &) = delete;
    Transport &operator=(const Transport &) = delete;

    void drop()
    {
        curl_easy_cleanup(curl_);
        curl_ = nullptr;
    }

    void exchange(std::uint32_t id, std::uint64_t deadline_ms)
    {
        const auto request = elector_.request(id);
        if (!request)
            return;
        const CURLcode result = perform(*request, deadline_ms);
        if (result == CURLE_OK) {
            elector_.response_end(id, now()).ignore();
            return;
        }
        std::fprintf(stderr, "%s\n", curl_easy_strerror(result));
        drop();
        const bool not_sent = result == CURLE_COULDNT_RESOLVE_HOST ||
                              result == CURLE_COULDNT_CONNECT ||
                              result == CURLE_SSL_CONNECT_ERROR || result == CURLE_FAILED_INIT;
        elector_
            .transport_error(id, not_sent ? KL_TRANSPORT_NOT_SENT : KL_TRANSPORT_UNKNOWN, now())
            .ignore();
    }

private:
    // A whole part of the request.
    std::string part(const kubelease::Request &request, kl_request_part part, std::size_t size)
    {
        std::string text(size, '\0');
        text.resize(elector_.read(request, part, 0, text.data(), text.size()));
        return text;
    }

    CURLcode perform(const kubelease::Request &request, std::uint64_t deadline_ms)
    {
        if (curl_ == nullptr && (curl_ = curl_easy_init()) == nullptr)
            return CURLE_FAILED_INIT;
        const std::string url = server_ + part(request, KL_PART_TARGET, request.target_size());
        const std::string body = part(request, KL_PART_BODY, request.body_size());
        const std::string method(request.method_name());
        curl_slist *headers = nullptr;
        const auto add = [&headers](const char *name, std::string_view value) {
            headers = curl_slist_append(headers, (name + (": " + std::string(value))).c_str());
        };
        add("Accept", request.accept());
        if (!body.empty())
            add("Content-Type", request.content_type());
        if (const std::string bearer = token(); !bearer.empty())
            add("Authorization", "Bearer " + bearer);
        const std::uint64_t at = now().mono_ms;
        id_ = request.id();
        curl_easy_reset(curl_); // keeps the connection
        curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
        curl_easy_setopt(curl_, CURLOPT_USERAGENT, "leader-agent/1");
        curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(curl_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
        curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS,
                         deadline_ms > at ? static_cast<long>(deadline_ms - at) : 1L);
        curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, &Transport::on_header);
        curl_easy_setopt(curl_, CURLOPT_HEADERDATA, this);
        curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &Transport::on_body);
        curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
        if (!body.empty()) {
            curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
            curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.c_str());
            curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, method.c_str());
        }
        const CURLcode result = curl_easy_perform(curl_);
        curl_slist_free_all(headers);
        return result;
    }

    static std::size_t on_header(char *data, std::size_t, std::size_t count, void *self)
    {
        auto &transport = *static_cast<Transport *>(self);
        const std::string_view line(data, count);
        const auto colon = line.find(':');
        if (line.substr(0, 5) == "HTTP/") {
            const std::string number(line.substr(line.find(' ') + 1, 3));
            const auto status = std::strtoul(number.c_str(), nullptr, 10);
            transport.elector_
                .response_begin(transport.id_, static_cast<std::uint32_t>(status))
                .ignore();
        } else if (colon != std::string_view::npos) {
            transport.elector_
                .response_header(transport.id_, line.substr(0, colon), line.substr(colon + 1))
                .ignore();
        }
        return count;
    }

    static std::size_t on_body(char *data, std::size_t, std::size_t count, void *self)
    {
        auto &transport = *static_cast<Transport *>(self);
        transport.elector_.response_body(transport.id_, {data, count}).ignore();
        return count;
    }

    kubelease::Elector &elector_;
    std::string server_;
    CURL *curl_ = nullptr;
    std::uint32_t id_ = 0;
};

void tell(const kubelease::Elector &elector, const kubelease::Action &action)
{
    std::printf("%s", kl_event_name(action.event));
    if (action.event == KL_EVENT_STARTED_LEADING) {
        if (const auto fence = elector.fence())
            std::printf(", fence %llu", static_cast<unsigned long long>(kl_fence_token(&*fence)));
    } else if (action.event == KL_EVENT_LEADER_CHANGED) {
        const auto leader = elector.leader();
        std::printf(": \"%.*s\"", static_cast<int>(leader.size()), leader.data());
    } else if (action.event == KL_EVENT_FINISHED) {
        std::printf(": %s", kl_finish_name(action.reason));
    }
    std::printf("\n");
    std::fflush(stdout);
}

} // namespace

int main(int count, char **arguments)
{
    if (count < 2) {
        std::fprintf(stderr, "usage: leader SERVER-URL [IDENTITY]\n");
        return 2;
    }
    const std::string identity =
        count > 2 ? arguments[2] : "leader-cpp-" + std::to_string(getpid());
    std::signal(SIGTERM, on_signal);
    std::signal(SIGINT, on_signal);
    kubelease::Config config("default", "leader-cpp", identity);
    config.seed(now().mono_ms);
    kubelease::Elector elector;
    if (const auto status = elector.init(config, now()); !status) {
        std::fprintf(stderr, "%s\n", status.name());
        return 1;
    }
    Transport transport(elector, arguments[1]);
    for (std::uint64_t work_at = 0;;) {
        const kubelease::Action action = elector.poll(now());
        if (action.kind == KL_ACTION_EVENT) {
            tell(elector, action);
        } else if (action.kind == KL_ACTION_SEND) {
            transport.exchange(action.request_id, action.deadline_ms);
        } else if (action.kind == KL_ACTION_CANCEL) {
            transport.drop();
        } else if (action.kind == KL_ACTION_STOPPED) {
            return 0;
        } else if (asked_to_stop != 0) {
            asked_to_stop = 0;
            elector.stop(now()).ignore();
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        const std::uint64_t at = now().mono_ms;
        if (at >= work_at && elector.is_leading(at)) {
            std::printf("work\n");
            work_at = at + 1000;
        }
    }
}
