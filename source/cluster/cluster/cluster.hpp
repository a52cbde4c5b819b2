#pragma once

#include "async/task_group.hpp"
#include "cluster/forwarder.hpp"
#include "cluster/handle_locations.hpp"
#include "cluster/list_changes.hpp"
#include "cluster/member_calls.hpp"
#include "cluster/member_watch.hpp"
#include "cluster/members.hpp"
#include "cluster/sandbox_moves.hpp"
#include "cluster/shared_knowledge.hpp"
#include "http/cluster_gateway.hpp"
#include "http/gateways.hpp"
#include "mcp/server_core.hpp"

#include <memory>

namespace cmcp {

struct settings;

/// This server's side of a cluster: whom it knows, what they tell each other, and the two ways to pass on what is not
/// its own.
struct cluster final : cluster_gateway {
    /// `config` names members, and must outlive this. Where sandboxes may move, members judge who is cut off and who is
    /// gone. Throws config_error.
    cluster(asio::any_io_executor executor, const settings& config, reported_by_server own,
            moving_sandboxes moving = {});
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;

    /// Lets the parts of a server work with the others: calls count together and go on at another one, requests for
    /// what others have are passed on. All of them, before start(); this must outlive them.
    void join(core_limits& limits);
    void join(server_core& core);
    void join(gateways& to);

    /// Begins work that goes on until it is cancelled.
    void start(task_group& tasks)
    {
        watch.start(tasks);
        lists.start();
        tasks.spawn("sandboxes that are given away", moves.run());
        if (!shared) return;
        tasks.spawn("the directory of the cluster", shared->told_in().run());
        tasks.spawn("what members tell each other", shared->run());
        tasks.spawn("quotas that members tell each other", shared->share_quotas());
    }

    json::object describe() const override;
    awaitable<json::object> move(std::string sandbox, std::string to) override;
    json::object drain(bool on) override;
    awaitable<json::object> rebalance() override;
    bool take_beat(std::string_view from) override { return watch.take_beat(from); }
    bool vote(std::string_view from, std::string_view about) override { return watch.vote(from, about); }
    awaitable<bool> take(std::string from, std::string sandbox) override
    {
        return moves.take(std::move(from), std::move(sandbox));
    }

    members all;
    std::string link_key;
    std::function<json::object()> load;  ///< of this server
    std::shared_ptr<member_links> links;
    member_watch watch;
    handle_locations places;
    std::unique_ptr<shared_knowledge> shared;  ///< null: CLUSTER_DIRECTORY names none
    sandbox_moves moves;
    forwarder requests;
    list_changes lists;
    member_calls calls;

    bool take_list_change(std::string_view from, std::string_view list) override;

private:
    using find_call = decltype(moving_sandboxes::find);
    moving_sandboxes telling(moving_sandboxes moving);
    awaitable<std::string> find_and_tell(find_call find, std::string handle, std::string node, gone_question is_gone);

    server_core* core_ = nullptr;
};

}  // namespace cmcp
