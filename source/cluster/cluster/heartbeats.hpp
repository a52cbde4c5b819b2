#pragma once

#include "cluster/members.hpp"
#include "cluster/placement.hpp"
#include "directory/directory.hpp"
#include "jsonrpc/json.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Of what a beat says.
server_load read_load(const json::object& beat);

/// The word of each member about itself in the directory, every two seconds; a member that says nothing for six is
/// gone. Io thread only.
class heartbeats {
public:
    /// `own`: the load of this server. All must outlive this.
    heartbeats(directory& told_in, const members& all, std::function<json::object()> own);

    /// Says and asks once. True: this server's own beat was not there any more, so what it had told may be lost, too.
    awaitable<bool> beat();

    /// By this a member says that all it has is in the directory. Beats keep it, so it goes with the member, and also
    /// when the directory is emptied.
    static directory_command told_all(const std::string& member);
    static directory_command who_told_all(const members& all);  ///< of the others; those who have answer with a text

    /// The word of the other member about itself; null: it is gone.
    const json::object* load_of(std::string_view member) const;

    /// Changes with the members that are alive, and their lives.
    std::uint64_t changes() const { return changes_; }

    /// Other than in every earlier life of this server.
    const std::string& own_mark() const { return own_mark_; }

    /// Whether the other member is there, and in the life of this mark.
    bool is_alive(std::string_view member, std::string_view mark) const;

    /// The member that should get a new sandbox in place of this server; empty: this server itself.
    std::string place_sandbox();

    /// The member that should get a sandbox which this server gives away. Empty: nobody takes any; place_surplus():
    /// this server has not more than the others.
    std::string place_given_away();
    std::string place_surplus();

    /// Whether the member, this server included, is there and has room for the home of one more principal.
    bool takes_home(std::string_view member) const;

private:
    std::string note_place(std::optional<std::size_t> place);

    directory& directory_;
    const members& members_;
    std::function<json::object()> own_;
    std::string own_mark_;
    std::map<std::string, json::object, std::less<>> loads_;  // of the others that are there, as of the last beat
    std::vector<std::string> names_;                          // of the same
    std::vector<server_load> other_loads_;                    // theirs, in this order, and what was placed there since
    server_load own_load_{};
    std::uint64_t changes_ = 0;
    std::minstd_rand chance_{std::random_device{}()};
};

}  // namespace cmcp
