#pragma once

#include "async/task_group.hpp"
#include "cluster/member_links.hpp"
#include "cluster/members.hpp"

#include <map>
#include <memory>
#include <string>

namespace cmcp {

/// Tells the other members that a list of this server has changed, so that clients hear of it wherever they listen. A
/// member that does not answer for some seconds is not told, because its clients listen anew. Io thread only.
class list_changes {
public:
    /// `all` must outlive this.
    list_changes(asio::any_io_executor executor, const members& all, std::shared_ptr<member_links> links);
    ~list_changes();

    /// From now on changes are told: those before are of a server that nobody knows yet.
    void start() { started_ = true; }

    /// Changes of the same list within a moment are told once.
    void tell(const std::string& list);

private:
    struct listener;
    static awaitable<> tell_one(std::shared_ptr<listener> to);
    static awaitable<bool> tell_of(std::shared_ptr<listener> to, std::string list);
    std::shared_ptr<listener> listener_at(const cluster_member& member);

    const members& members_;
    std::shared_ptr<member_links> links_;
    std::map<std::string, std::shared_ptr<listener>> others_;  // by name
    bool started_ = false;
    task_group telling_;
};

}  // namespace cmcp
