#pragma once

#include "async/asio.hpp"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

namespace cmcp {

/// The owner of a sandbox that may move. Each one after the first has the next epoch.
struct sandbox_claim {
    std::uint64_t epoch = 0;    ///< 0: nobody has claimed it
    std::string node{};         ///< the owner; at epoch 0 the server that a sandbox's handle names
    std::int64_t revision = 0;  ///< of the claim, by which another one replaces it; 0: there is none
};

/// What knows the owners does not answer. what() is a sentence.
struct owners_away : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The owners of the sandboxes of a cluster, of which each has one at a time. Calls throw owners_away.
class sandbox_owners {
public:
    virtual ~sandbox_owners() = default;

    virtual awaitable<std::map<std::string, sandbox_claim>> all() = 0;  ///< claimed ones, by handle
    virtual awaitable<sandbox_claim> owner_of(std::string handle) = 0;

    /// The node `to` is the owner after `before`, which is as it was read. `gone`: where no server of the name of that
    /// owner is registered. False: another claim was quicker, or the owner is back.
    virtual awaitable<bool> claim(std::string handle, std::string to, sandbox_claim before, bool gone) = 0;

    /// The sandbox is deleted.
    virtual awaitable<> forget(std::string handle) = 0;

    /// Whether the owners are known that servers had told each other in another way before.
    virtual awaitable<bool> has_claims_of_before() = 0;
    virtual awaitable<> note_claims_of_before() = 0;
};

}  // namespace cmcp
