#pragma once

#include "async/asio.hpp"
#include "egress/web_url.hpp"
#include "metrics/span_queue.hpp"

#include <boost/asio/ssl/context.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// Where spans go.
struct otlp_target {
    web_url endpoint;     ///< of the collector; spans are posted to its path and /v1/traces
    std::string service;  ///< service.name
    std::vector<std::pair<std::string, std::string>> headers;  ///< with every request

    /// From OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME and OTEL_EXPORTER_OTLP_HEADERS ("name=value,…", values
    /// percent-encoded). Throws config_error that names the setting.
    static otlp_target read(const std::string& endpoint, const std::string& service, const std::string& headers);
};

/// Posts the spans of metrics::spans() to a collector (OTLP/HTTP with JSON), once a second at most. While the collector
/// does not take them they wait, as many as the queue holds; the log tells when that begins and when it ends.
class otlp_exporter {
public:
    explicit otlp_exporter(otlp_target target);

    awaitable<> run();     ///< until cancelled
    awaitable<> finish();  ///< what still waits, in two seconds at most

private:
    awaitable<bool> send_some();                    ///< false: nothing was taken
    awaitable<std::string> post(std::string body);  ///< what went wrong; empty: nothing
    void tell(const std::string& problem);

    otlp_target target_;
    boost::asio::ssl::context trust_;
    std::vector<metrics::span> unsent_;
    bool failing_ = false;
};

}  // namespace cmcp
