#include "mcp/served_request.hpp"

#include "log/request_id.hpp"
#include "mcp/params.hpp"

namespace cmcp {

served_request::served_request(jsonrpc::request incoming, const caller* asks) : params(std::move(incoming.params))
{
    id = json::value(incoming.id, json::storage_ptr());  // not in the memory of the message
    ids = std::move(incoming.ids);
    if (ids.own.empty()) ids.own = log::next_id('r');
    method = std::move(incoming.method);
    is_long = incoming.is_long;
    digest = std::move(incoming.digest);
    target = target_of(params);
    trace = trace_of(meta_of(params));
    who = asks;
}

served_request::~served_request()
{
    if (is_long && discard) discard(std::move(params));
}

const json::object* served_request::arguments() const
{
    const auto* sent = params.if_contains("arguments");
    return sent != nullptr ? sent->if_object() : nullptr;
}

}  // namespace cmcp
