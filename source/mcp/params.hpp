#pragma once

#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// Reading the params of a request. All throw rpc_error invalid_params, whose sentence names the member.
std::string required_string(const json::object& params, std::string_view name);
const json::object& required_object(const json::object& params, std::string_view name);

/// A copy; empty when the member is absent or null.
json::object optional_object(const json::object& params, std::string_view name);

/// `_meta` of the params, or nothing.
const json::object* meta_of(const json::object& params);

/// The trace id of `_meta.traceparent` (W3C Trace Context); empty when there is none that is well-formed.
std::string trace_of(const json::object* meta);

}  // namespace cmcp
