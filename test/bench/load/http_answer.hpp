#pragma once

#include "load/failure.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp::load {

/// The status of an HTTP answer and the beginning of its body, which failure sentences quote.
struct http_answer {
    int status = 200;
    std::string body;

    bool good() const { return status >= 200 && status < 300; }

    void add(std::string_view piece)
    {
        constexpr std::size_t most = 64 * 1024;
        body.append(piece.substr(0, most - std::min(most, body.size())));
    }

    std::string kind() const { return "HTTP " + std::to_string(status); }
    failure why() const { return {kind(), failure_text(body)}; }
};

}  // namespace cmcp::load
