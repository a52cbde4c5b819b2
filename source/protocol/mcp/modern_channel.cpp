#include "mcp/modern_channel.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "mcp/client_capability.hpp"
#include "mcp/input_required.hpp"

namespace cmcp {

modern_channel::modern_channel(const caller& who, std::shared_ptr<message_sink> sink, const json::object* meta,
                               std::optional<log_severity> log_threshold, json::object known)
    : request_channel(std::move(sink), meta), caller_(who), log_threshold_(log_threshold), known_(std::move(known))
{
}

awaitable<json::object> modern_channel::ask(std::string key, std::string method, json::object params)
{
    if (const auto* answer = known_.if_contains(key)) {
        used_[key] = *answer;
        co_return answer->as_object();
    }
    require_capability(caller_, method, params);
    json::object input_request;
    input_request["method"] = method;
    input_request["params"] = std::move(params);
    input_required needed;
    needed.input_requests[key] = std::move(input_request);
    throw needed;
}

awaitable<std::optional<json::object>> modern_channel::ask_and_wait(json::object) { co_return std::nullopt; }

}  // namespace cmcp
