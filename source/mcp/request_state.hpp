#pragma once

#include "jsonrpc/json.hpp"

#include <array>
#include <string>
#include <string_view>

namespace cmcp {

/// Signs what travels through the client between two attempts of a call (HMAC-SHA-256, a random key for each process).
class request_state {
public:
    request_state();

    std::string seal(const json::object& state) const;

    /// Throws rpc_error invalid_params when the text was not sealed here or was changed.
    json::object open(std::string_view sealed) const;

private:
    std::string signature(std::string_view text) const;

    std::array<unsigned char, 32> key_;
};

}  // namespace cmcp
