#pragma once

#include "identity/token_rules.hpp"

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cmcp {

/// Decisions about tokens, by the digest of the token. The ones that were used last stay. Io thread only.
class login_cache {
public:
    explicit login_cache(std::size_t most = 10'000) : most_(most) {}

    /// Null: it is not known, or its time is over.
    const token_decision* find(const std::string& digest, login::clock::time_point now);

    void put(std::string digest, token_decision decision, login::clock::time_point until);
    void clear();

private:
    struct entry {
        std::string digest;
        token_decision decision;
        login::clock::time_point until;
    };
    std::size_t most_;
    std::list<entry> entries_;  // the last used one first
    std::unordered_map<std::string_view, std::list<entry>::iterator> by_digest_;
};

}  // namespace cmcp
