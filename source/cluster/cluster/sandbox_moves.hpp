#pragma once

#include "async/event.hpp"
#include "cluster/handle_locations.hpp"
#include "cluster/member_links.hpp"
#include "cluster/member_loads.hpp"
#include "cluster/members.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// Sandboxes that go from this server to another one while both run: by an administrator's word, because the server is
/// drained, or because it has more than others. Throws http_refusal and sandbox_error. Io
/// thread only.
class sandbox_moves {
public:
    /// All must outlive this. `loads` says where there is room.
    sandbox_moves(const members& all, std::shared_ptr<member_links> links, moving_sandboxes moving,
                  member_loads& loads);

    /// The node that has it from now on. `to` empty: one with room.
    awaitable<std::string> move(std::string handle, std::string to);
    awaitable<bool> take(std::string from, std::string handle);  ///< from a member that hands it over

    /// Gives sandboxes away as they become idle.
    void drain(bool on);
    bool drains() const { return drains_; }
    std::size_t left() const { return moving_.all ? moving_.all().size() : 0; }

    awaitable<std::size_t> rebalance();  ///< how many it has given away

    /// Gives away while the server is drained, until it is cancelled.
    awaitable<> run();

private:
    void refuse_without_storage() const;
    awaitable<> give_away();
    awaitable<bool> move_quietly(std::string handle, std::string to);

    const members& members_;
    std::shared_ptr<member_links> links_;
    moving_sandboxes moving_;
    member_loads& loads_;
    bool drains_ = false;
    event changed_;
};

}  // namespace cmcp
