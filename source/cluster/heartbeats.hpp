#pragma once

#include "cluster/members.hpp"
#include "directory/directory.hpp"
#include "jsonrpc/json.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace cmcp {

/// The word of each member about itself in the directory, every two seconds; a member that says nothing for six is
/// gone. Io thread only.
class heartbeats {
public:
    /// `own`: the load of this server. All must outlive this.
    heartbeats(directory& told_in, const members& all, std::function<json::object()> own);

    /// Says and asks once. True: this server's own beat was not there any more, so what it had told may be lost, too.
    awaitable<bool> beat();

    /// Changes with the members that are alive, and their lives.
    std::uint64_t changes() const { return changes_; }

    /// Other than in every earlier life of this server.
    const std::string& own_mark() const { return own_mark_; }

    /// Whether the other member is there, and in the life of this mark.
    bool is_alive(std::string_view member, std::string_view mark) const;

private:
    directory& directory_;
    const members& members_;
    std::function<json::object()> own_;
    std::string own_mark_;
    std::map<std::string, json::object, std::less<>> loads_;  // of the others that are there, as of the last beat
    std::uint64_t changes_ = 0;
};

}  // namespace cmcp
