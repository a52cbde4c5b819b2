#include "mcp/modern_request.hpp"

#include "log/request_id.hpp"
#include "mcp/params.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/severity.hpp"

namespace cmcp {

namespace {

revision supported_revision(const std::string& requested)
{
    const auto known = parse_revision(requested);
    if (known && is_modern(*known)) return *known;
    json::array supported;
    supported.emplace_back(to_string(revision::v2026_07_28));
    json::object data;
    data["supported"] = std::move(supported);
    data["requested"] = requested;
    throw rpc_error(rpc_code::unsupported_protocol_version, "Unsupported protocol version: " + requested.substr(0, 100),
                    json::value(std::move(data)));
}

}  // namespace

modern_request::modern_request(std::string principal, jsonrpc::request incoming)
    : id(std::move(incoming.id)),
      ids(std::move(incoming.ids)),
      method(std::move(incoming.method)),
      params(std::move(incoming.params))
{
    if (ids.own.empty()) ids.own = log::next_id('r');
    const auto& given = required_object(params, "_meta");
    const auto requested = required_string(given, reserved_name::protocol_version);
    who.protocol = supported_revision(requested);
    who.principal = std::move(principal);
    who.client_capabilities = required_object(given, reserved_name::client_capabilities);
    who.client_info = optional_object(given, reserved_name::client_info);
    if (const auto* level = given.if_contains(reserved_name::log_level))
        log_level = severity_from(*level, reserved_name::log_level);
}

}  // namespace cmcp
