#pragma once

#include "async/asio.hpp"
#include "egress/web_url.hpp"
#include "telemetry/otlp_message.hpp"

#include <boost/asio/ssl/context.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

struct telemetry_settings;

/// Where spans and log records go, and from where they come.
struct otlp_target {
    web_url endpoint;  ///< of the collector; behind its path come /v1/traces and /v1/logs
    otlp_resource resource;
    std::vector<std::pair<std::string, std::string>> headers;  ///< with every request

    /// From OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS
    /// (the last two "name=value,…", values percent-encoded). Throws config_error that names the setting.
    static otlp_target read(const telemetry_settings& config);
};

/// Posts the spans of metrics::spans() and the records of log::records() to a collector (OTLP/HTTP with JSON), once a
/// second at most. While the collector does not take them they wait, as many as the queues hold; the log tells when
/// that begins and when it ends.
class otlp_exporter {
public:
    /// `with_logs`: log records, too.
    otlp_exporter(otlp_target target, bool with_logs);

    awaitable<> run();     ///< until cancelled
    awaitable<> finish();  ///< what still waits, in two seconds at most

private:
    /// A batch as the body of a request.
    struct batch {
        std::string body;
        std::size_t items = 0;
    };
    struct signal {
        const char* name;  ///< "spans" or "logs"
        const char* path;
        std::function<batch()> take;  ///< without items: nothing waits
        std::function<std::size_t()> waiting;
        std::function<std::uint64_t()> dropped;  ///< by the queue
        std::function<void()> close;
        batch unsent{};
        std::uint64_t refused = 0;  ///< items that the collector does not want
        bool failing = false;
        bool off = false;  ///< the collector does not know this signal
    };

    /// The collector's answer.
    struct reply {
        unsigned status = 0;    ///< 0: there was none
        std::string problem{};  ///< empty: the batch is done with
        std::uint64_t rejected = 0;
    };

    signal span_signal();
    signal log_signal();
    awaitable<bool> send_some(signal& of);  ///< false: nothing was taken
    awaitable<reply> post(const signal& of);
    void settle(signal& of, const reply& answer);
    void tell(signal& of, const std::string& problem);
    static void count(const signal& of, std::size_t sent, bool failed);

    otlp_target target_;
    std::shared_ptr<boost::asio::ssl::context> trust_;  ///< null: the collector is reached without TLS
    std::deque<signal> signals_;
};

}  // namespace cmcp
