#pragma once

#include "async/task_group.hpp"
#include "cluster/etcd_owners.hpp"
#include "cluster/forwarder.hpp"
#include "cluster/handle_locations.hpp"
#include "cluster/list_changes.hpp"
#include "cluster/member_calls.hpp"
#include "cluster/member_lease.hpp"
#include "cluster/members.hpp"
#include "cluster/sandbox_moves.hpp"
#include "cluster/shared_knowledge.hpp"
#include "etcd/etcd_client.hpp"
#include "mcp/server_core.hpp"

#include <memory>

namespace cmcp {

struct http_parts;
struct settings;

/// This server's side of a cluster: its registration in etcd, whom it knows by that, what they tell each other, and the
/// two ways to pass on what is not its own.
struct cluster {
    /// `config` names etcd, and must outlive this. Throws config_error.
    cluster(asio::any_io_executor executor, const settings& config, reported_by_server own,
            moving_sandboxes moving = {});
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;

    /// Lets the parts of a server work with the others: calls count together and go on at another one, requests for
    /// what others have are passed on. All of them, before start(); this must outlive them.
    void join(core_limits& limits);
    void join(server_core& core);
    void join(http_parts& to);

    /// Where sandboxes may move, before enter(): what is told of their owners, and what is done when this server is
    /// registered anew, and when it is not sure to be.
    struct sandbox_listener {
        etcd_owners::listener owners;
        member_lease::changes lease;
    };
    void listen(sandbox_listener to);

    /// As shared_holdings::begin_making(). Where sandboxes may move, a server that is cut off makes none.
    awaitable<std::shared_ptr<void>> begin_making(std::string principal, std::string name);

    /// Throws sandbox_error, with the labels that there are, where this server does not have these.
    void check_labels(const label_map& wanted);

    awaitable<> enter();  ///< as member_lease::enter()

    /// Begins work that goes on until it is cancelled.
    void start(task_group& tasks);

    /// Whether sandboxes may move, so that this server uses its own only while it is_in_touch().
    bool has_moving_sandboxes() const { return has_moving_; }

    /// A list of another member has changed ("tools", "prompts"): whether clients are told.
    bool take_list_change(std::string_view from, std::string_view list);

    members all;
    std::string link_key;
    std::function<json::object()> load;  ///< of this server
    std::shared_ptr<member_links> links;
    etcd_client etcd;
    member_lease lease;
    etcd_owners owners;
    handle_locations places;
    shared_knowledge shared;
    sandbox_moves moves;
    forwarder requests;
    list_changes lists;
    member_calls calls;

private:
    using find_call = decltype(moving_sandboxes::find);
    moving_sandboxes telling(moving_sandboxes moving);
    awaitable<std::string> find_and_tell(find_call find, std::string handle, std::string node, gone_question is_gone);
    awaitable<> hear_members();
    awaitable<std::chrono::milliseconds> begin_call(std::string principal, bool counts);
    awaitable<bool> end_call(ended_call call);

    etcd_names names_;
    bool has_moving_;
    decltype(moving_sandboxes::has_lost) has_lost_;
    etcd_owners::listener owners_heard_;
    server_core* core_ = nullptr;
};

}  // namespace cmcp
