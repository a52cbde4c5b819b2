#pragma once

#include "async/blocking_pool.hpp"
#include "async/task_group.hpp"
#include "cluster/handle_locations.hpp"
#include "cluster/list_changes.hpp"
#include "cluster/member_links.hpp"
#include "cluster/member_request.hpp"
#include "cluster/members.hpp"
#include "cluster/shared_holdings.hpp"
#include "mcp/other_nodes.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct settings;

/// Single messages of MCP that another member answers, for clients of either era, of REST and of sessions.
class member_calls final : public other_nodes {
public:
    /// All must outlive this.
    member_calls(asio::any_io_executor executor, const settings& config, const members& all, handle_locations& places,
                 std::shared_ptr<member_links> links, list_changes& lists, shared_holdings& holdings);

    /// Where long messages are written and read; before that they are so at once.
    void work_on(std::weak_ptr<blocking_pool> pool) { pool_ = std::move(pool); }

    std::string owner_of(std::string_view handle) const override;
    bool is_own(std::string_view node) const override;
    awaitable<std::string> node_with(const caller& who, std::string name) override;
    awaitable<std::string> node_for_new(const caller& who, std::string name, wish needs) override;
    awaitable<std::string> home_of(const caller& who) override;
    std::string known_home_of(const caller& who) const override;
    std::string default_sandbox_of(const caller& who) const override;
    awaitable<json::object> call(running_request& request, std::string node, shared_params params) override;
    awaitable<std::optional<std::string>> find_again(std::string handle, std::string node,
                                                     movable_request::moment tried) override;
    awaitable<std::vector<answer>> ask_all(running_request& request) override;
    awaitable<std::vector<answer>> ask_holders(running_request& request) override;
    void tell_list_changed(const std::string& list) override { lists_.tell(list); }
    std::shared_ptr<void> observe(const caller& who, std::string node, const change& what,
                                  std::function<void(json::object params)> heard) override;

private:
    awaitable<std::vector<answer>> ask_but(running_request& request, std::set<std::string> without);
    bool has_default_of_session(const caller& who) const;
    member_message message_for(const cluster_member& to, const caller& who, bool is_program) const;

    asio::any_io_executor executor_;
    const settings& config_;
    const members& members_;
    handle_locations& places_;
    std::shared_ptr<member_links> links_;
    list_changes& lists_;
    shared_holdings& holdings_;
    std::weak_ptr<blocking_pool> pool_;
};

}  // namespace cmcp
