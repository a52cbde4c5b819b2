#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

namespace cmcp {

/// Which credentials came from which address lately, so that a login is recorded once and not with each request.
class seen_logins {
public:
    using clock = std::chrono::steady_clock;

    explicit seen_logins(clock::duration lasts = std::chrono::hours(1), std::size_t most = 10'000)
        : lasts_(lasts), most_(most)
    {
    }

    /// Whether it is some time ago, or was never.
    bool is_new(std::string login, clock::time_point now)
    {
        if (seen_.size() >= most_) std::erase_if(seen_, [&](const auto& each) { return now - each.second >= lasts_; });
        if (seen_.size() >= most_) seen_.clear();
        const auto [known, added] = seen_.try_emplace(std::move(login), now);
        if (!added && now - known->second < lasts_) return false;
        known->second = now;
        return true;
    }

private:
    clock::duration lasts_;
    std::size_t most_;
    std::unordered_map<std::string, clock::time_point> seen_;
};

}  // namespace cmcp
