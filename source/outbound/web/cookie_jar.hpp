#pragma once

#include "egress/web_url.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Cookies of one fetch and its redirects (RFC 6265), which sites use to see that a client goes the way that they send
/// it. Pure.
class cookie_jar {
public:
    using clock = std::chrono::system_clock;

    /// Takes a Set-Cookie field of an answer from `from`. One for another host, or for a whole public suffix, is left
    /// out.
    void take(const web_url& from, std::string_view field, clock::time_point now);

    /// The Cookie field for a request to `to`; empty: none.
    std::string header_for(const web_url& to, clock::time_point now) const;

private:
    struct cookie {
        std::string name, value;
        std::string domain;
        std::string path;
        bool host_only = true;
        bool secure = false;
        clock::time_point ends = clock::time_point::max();
    };

    std::vector<cookie> cookies_;  // in the order in which they came
};

}  // namespace cmcp
