#pragma once

#include <stdexcept>
#include <string>

namespace cmcp {

/// A page that could not be fetched. what() is a sentence for the caller: what happened, where, and what may help.
struct fetch_error : std::runtime_error {
    fetch_error(std::string short_reason, const std::string& sentence)
        : std::runtime_error(sentence), reason(std::move(short_reason))
    {
    }

    std::string reason;  ///< one of a fixed set: "timeout", "too_large", "tls", "refused", "bad_answer", …
};

}  // namespace cmcp
