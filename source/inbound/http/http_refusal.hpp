#pragma once

#include "http/http_reply.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace cmcp {

/// A refusal with the HTTP status that fits; what() says what to do. `type` is one of refusal_types; empty: that of the
/// status.
struct http_refusal : std::runtime_error {
    http_refusal(int code, const std::string& sentence, std::string kind = {})
        : std::runtime_error(sentence), status(code), type(std::move(kind))
    {
    }
    http_reply reply() const { return error_reply(status, what(), type); }

    int status;
    std::string type;
};

}  // namespace cmcp
