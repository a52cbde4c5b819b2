#pragma once

#include "async/asio.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// A request to an authorization server.
struct document_request {
    std::string url;
    std::string form{};  ///< posted as application/x-www-form-urlencoded; empty: GET
    std::vector<std::pair<std::string, std::string>> headers{};
};

/// The body of an answer 200. Throws std::runtime_error with a sentence otherwise.
using document_fetch = std::function<awaitable<std::string>(document_request)>;

}  // namespace cmcp
