#include "mcp/stateless_request.hpp"

#include "jsonrpc/absent.hpp"
#include "mcp/params.hpp"
#include "mcp/request_io.hpp"
#include "mcp/reserved_names.hpp"

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

stateless_request::stateless_request(stateless_request& call)
    : running_request({.id = call.id,
                       .method = call.method,
                       .params = std::move(call.params),
                       .ids = call.ids,
                       .is_long = call.is_long,
                       .digest = call.digest},
                      &own),
      own(call.own),
      log_level(call.log_level)
{
    keeps = call.keeps;
    discard = call.discard;
    may_become_task = true;
    life.on(request_life::input::admit);
}

void stateless_request::read_meta()
{
    const auto& meta = required_object(params, "_meta");
    own.protocol = supported_revision(required_string(meta, reserved_name::protocol_version));
    if (spoken) own.protocol = *spoken;
    own.client_capabilities = jsonrpc::without_nulls(required_object(meta, reserved_name::client_capabilities));
    own.client_info = optional_object(meta, reserved_name::client_info);
    const auto* level = jsonrpc::given(meta, reserved_name::log_level, json::kind::object);
    if (level != nullptr) log_level = severity_from(*level, reserved_name::log_level);
    who = &own;
}

}  // namespace cmcp
