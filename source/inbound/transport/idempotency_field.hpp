#pragma once

#include "http/http_reply.hpp"
#include "http/http_request.hpp"
#include "mcp/idempotent_calls.hpp"

#include <optional>
#include <stdexcept>
#include <string>

namespace cmcp {

/// The header Idempotency-Key into `key`, which stays empty where there is none; or a refusal.
inline std::optional<http_reply> take_idempotency_key(const http_request& request, std::string& key)
{
    try {
        key = read_idempotency_key(request.header("idempotency-key").value_or(""));
    } catch (const std::invalid_argument& wrong) {
        return error_reply(400, wrong.what(), "InvalidArgument");
    }
    return std::nullopt;
}

}  // namespace cmcp
