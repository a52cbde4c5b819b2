#include "telemetry/otlp_message.hpp"

#include "jsonrpc/write_json.hpp"
#include "prebuilt/version.hpp"
#include "text/random_id.hpp"

#include <array>
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
    described["traceId"] = !one.trace.empty()          ? one.trace
                           : !one.parent.trace.empty() ? one.parent.trace
                                                       : random_id(16);
    described["spanId"] = one.id.empty() ? random_id(8) : one.id;
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

// SeverityNumber of the data model of logs.
int severity_number(log::level severity)
{
    constexpr std::array numbers{5, 9, 13, 17};
    return numbers.at(static_cast<std::size_t>(severity));
}

json::object any_value(const json::value& value)
{
    if (const auto* text = value.if_string()) return {{"stringValue", *text}};
    if (const auto* flag = value.if_bool()) return {{"boolValue", *flag}};
    if (value.is_double()) return {{"doubleValue", value.get_double()}};
    if (value.is_number()) return {{"intValue", jsonrpc::write_json(value)}};
    const auto* list = value.if_array();
    if (list == nullptr) return {{"stringValue", jsonrpc::write_json(value)}};
    json::array values;
    for (const auto& each : *list) values.push_back(any_value(each));
    return {{"arrayValue", {{"values", std::move(values)}}}};
}

json::object describe(const log::record& one)
{
    json::object described;
    auto when = nanoseconds(one.when);
    described["timeUnixNano"] = when;
    described["observedTimeUnixNano"] = std::move(when);
    described["severityNumber"] = severity_number(one.severity);
    described["severityText"] = log::level_names.at(static_cast<std::size_t>(one.severity));
    described["eventName"] = one.event;
    described["body"] = json::object{{"stringValue", one.event}};
    json::array attributes;
    for (const auto& [key, value] : one.attributes)
        attributes.push_back(json::object{{"key", key}, {"value", any_value(value)}});
    described["attributes"] = std::move(attributes);
    if (!one.trace.empty()) described["traceId"] = one.trace;
    if (!one.span.empty()) described["spanId"] = one.span;
    return described;
}

/// The names of one signal's members.
struct envelope {
    const char* of_resource;
    const char* of_scope;
    const char* items;
};

json::object wrapped(const otlp_resource& resource, const envelope& names, json::array items)
{
    json::object scope;
    scope["scope"] = json::object{{"name", "container-mcp"}, {"version", CMCP_VERSION}};
    scope[names.items] = std::move(items);
    json::array attributes;
    for (const auto& [key, value] : resource) attributes.push_back(attribute(key, value));
    json::object from;
    from["resource"] = json::object{{"attributes", std::move(attributes)}};
    from[names.of_scope] = json::array{std::move(scope)};
    json::object message;
    message[names.of_resource] = json::array{std::move(from)};
    return message;
}

template <class Item>
json::array described_all(const std::vector<Item>& items)
{
    json::array described;
    for (const auto& one : items) described.push_back(describe(one));
    return described;
}

}  // namespace

json::object otlp_traces(const otlp_resource& resource, const std::vector<metrics::span>& spans)
{
    return wrapped(resource, {"resourceSpans", "scopeSpans", "spans"}, described_all(spans));
}

json::object otlp_logs(const otlp_resource& resource, const std::vector<log::record>& records)
{
    return wrapped(resource, {"resourceLogs", "scopeLogs", "logRecords"}, described_all(records));
}

}  // namespace cmcp
