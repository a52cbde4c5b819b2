#include "telemetry/otlp_message.hpp"

#include "text/random_id.hpp"

#include <string_view>

namespace cmcp {

namespace {

constexpr int server_kind = 2;   // SPAN_KIND_SERVER
constexpr int error_status = 2;  // STATUS_CODE_ERROR

json::object attribute(std::string_view key, std::string_view value)
{
    json::object held;
    held["stringValue"] = value;
    json::object pair;
    pair["key"] = key;
    pair["value"] = std::move(held);
    return pair;
}

json::string nanoseconds(std::chrono::system_clock::time_point time)
{
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
    return json::string(std::to_string(since.count()));
}

json::object describe(const metrics::span& one)
{
    json::object described;
    described["traceId"] = one.parent.trace.empty() ? random_id(16) : one.parent.trace;
    described["spanId"] = random_id(8);
    if (!one.parent.span.empty()) described["parentSpanId"] = one.parent.span;
    described["name"] = one.name;
    described["kind"] = server_kind;
    described["startTimeUnixNano"] = nanoseconds(one.began);
    described["endTimeUnixNano"] =
        nanoseconds(one.began + std::chrono::duration_cast<std::chrono::system_clock::duration>(one.took));
    json::array attributes;
    for (const auto& [key, value] : one.attributes) attributes.push_back(attribute(key, value));
    if (!one.error.empty()) attributes.push_back(attribute("error.type", one.error));
    described["attributes"] = std::move(attributes);
    json::object status;
    if (!one.error.empty()) status["code"] = error_status;
    described["status"] = std::move(status);
    return described;
}

}  // namespace

json::object otlp_message(const std::string& service, const std::vector<metrics::span>& spans)
{
    json::array described;
    for (const auto& one : spans) described.push_back(describe(one));
    json::object scope{{"name", "container-mcp"}, {"version", CMCP_VERSION}};
    json::object of_scope;
    of_scope["scope"] = std::move(scope);
    of_scope["spans"] = std::move(described);
    json::object resource;
    resource["attributes"] =
        json::array{attribute("service.name", service), attribute("service.version", CMCP_VERSION)};
    json::object of_resource;
    of_resource["resource"] = std::move(resource);
    of_resource["scopeSpans"] = json::array{std::move(of_scope)};
    json::object message;
    message["resourceSpans"] = json::array{std::move(of_resource)};
    return message;
}

}  // namespace cmcp
