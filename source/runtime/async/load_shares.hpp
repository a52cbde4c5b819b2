#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace cmcp {

/// The time of the loop that each payer has used of late. A second halves what is charged. Io thread only.
class load_shares {
public:
    using clock = std::chrono::steady_clock;

    void charge(std::string_view payer, clock::duration used, clock::time_point now = clock::now())
    {
        auto known = shares_.find(payer);
        if (known == shares_.end()) {
            if (shares_.size() >= most_payers) forget(now);
            known = shares_.emplace(std::string(payer), share{0, now}).first;
        }
        known->second = {known->second.at(now) + std::chrono::duration<double>(used).count(), now};
    }

    /// Whether the payer is among those with the largest shares: half of the largest or more where `grade` is 1, a
    /// quarter where it is 2, and so on.
    bool is_heavy(std::string_view payer, unsigned grade, clock::time_point now = clock::now()) const
    {
        double largest = 0;
        for (const auto& [name, each] : shares_) largest = std::max(largest, each.at(now));
        const auto own = shares_.find(payer);
        return (own == shares_.end() ? 0 : own->second.at(now)) >= std::ldexp(largest, -static_cast<int>(grade));
    }

    std::size_t payers() const { return shares_.size(); }

private:
    static constexpr std::size_t most_payers = 1000;

    struct share {
        double seconds;
        clock::time_point counted;

        double at(clock::time_point now) const
        {
            return seconds * std::exp2(-std::chrono::duration<double>(now - counted).count());
        }
    };

    // Shares that say nothing any more; where all do, the smaller ones.
    void forget(clock::time_point now)
    {
        double limit = 1e-4;
        while (shares_.size() >= most_payers) {
            std::erase_if(shares_, [&](const auto& each) { return each.second.at(now) < limit; });
            limit *= 4;
        }
    }

    std::map<std::string, share, std::less<>> shares_;
};

}  // namespace cmcp
