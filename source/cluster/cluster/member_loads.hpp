#pragma once

#include "cluster/members.hpp"
#include "cluster/placement.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/other_nodes.hpp"

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Of what a server says of itself.
server_load read_load(const json::object& about);

/// How full the servers of a cluster are, as they say themselves every two seconds, and where something new goes. Io
/// thread only.
class member_loads {
public:
    using wish = other_nodes::wish;

    /// `own`: the load of this server. Both must outlive this.
    member_loads(const members& all, std::function<json::object()> own) : members_(all), own_(std::move(own)) {}

    /// What the members say now counts in place of what was placed since.
    void look_again();

    /// The member that should get a new sandbox in place of this server; empty: this server itself. Where none has the
    /// image, it is made here, which may fetch it; where none has the labels, this server refuses it.
    std::string place_sandbox(const wish& needs);

    /// The member that should bring a sandbox in place of this server, because it has what that needs.
    std::string place_brought(const wish& needs);

    /// The member that should get a sandbox which this server gives away. Empty: nobody takes any; place_surplus():
    /// this server has not more than the others.
    std::string place_given_away(const wish& needs);
    std::string place_surplus(const wish& needs);

    bool has_own(const label_map& wanted) const;  ///< this server
    std::vector<std::string> labels() const;      ///< that servers have, in order, each once

    /// Whether the member, this server included, is there and has room for the home of one more principal.
    bool takes_home(std::string_view member) const;

private:
    /// Servers that have what is needed; the others drain.
    struct fitting {
        bool own = true;    ///< whether this server has it
        bool image = true;  ///< whether any has the image
        std::vector<server_load> others;
    };

    fitting those_with(const wish& needs) const;
    std::string note_place(std::optional<std::size_t> place);

    const members& members_;
    std::function<json::object()> own_;
    std::vector<std::string> names_;        // of the others that are there
    std::vector<server_load> other_loads_;  // theirs, in this order, and what was placed there since
    json::object about_own_;
    server_load own_load_{};
    std::minstd_rand chance_{std::random_device{}()};
};

}  // namespace cmcp
