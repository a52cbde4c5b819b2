#pragma once

#include "jsonrpc/json.hpp"
#include "metrics/trace_context.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// Reading the params of a request. All throw rpc_error invalid_params, whose sentence names the member.
std::string required_string(const json::object& params, std::string_view name);
const json::object& required_object(const json::object& params, std::string_view name);

/// A copy; empty when the member is absent (jsonrpc/absent.hpp).
json::object optional_object(const json::object& params, std::string_view name);

/// `_meta` of the params, or nothing.
const json::object* meta_of(const json::object& params);

/// `_meta.traceparent` (W3C Trace Context); empty when there is none that is well-formed.
metrics::trace_parent trace_of(const json::object* meta);

/// The target that a request names: `name` of a tool or prompt, `uri` of a resource; empty when neither is there.
std::string target_of(const json::object& params);

}  // namespace cmcp
