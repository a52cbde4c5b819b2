#pragma once

#include "mcp/attempt_state.hpp"
#include "mcp/catalogue.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/era.hpp"
#include "mcp/request_register.hpp"
#include "mcp/stateless_request.hpp"
#include "mcp/tasks/task_call.hpp"

#include <string_view>

namespace cmcp {

constexpr std::string_view listen_method = "subscriptions/listen";

/// Revision 2026-07-28: every request stands for itself. An input request ends its request. The call ends with it,
/// unless it has become a task, or goes on in a job until the client's next attempt (request_io::ask_meanwhile).
class stateless_era final : public era {
public:
    /// `secret`: as core_limits::shared_secret.
    stateless_era(catalogue& offered, change_hub& changes, const task_view& tasks, std::string_view secret)
        : offered_(offered), changes_(changes), tasks_(tasks), states_(secret)
    {
    }

    std::shared_ptr<running_request> make(jsonrpc::request incoming, const peer& from) const override;
    void check(running_request& request) const override;
    awaitable<json::object> attempt(running_request& request) override;
    awaitable<json::object> attempt_on(running_request& request, std::string node) override;
    awaitable<std::optional<json::object>> ask(running_request& request, input_required needed) override;
    void complete(const running_request& request, json::object& result) const override;

    /// subscriptions/listen, which waits for hours: nothing of its request stays in memory meanwhile. `answers` sends
    /// the response. Throws rpc_error when the register refuses it.
    std::shared_ptr<canceller> listen(running_request& request, request_register& requests, task_group& answers,
                                      std::shared_ptr<session> from);

private:
    bool may_go_on(const stateless_request& request) const;
    void prepare(stateless_request& request, std::shared_ptr<message_sink> reply,
                 std::shared_ptr<task_call> becoming) const;
    awaitable<json::object> attempt_detachable(stateless_request& request);
    json::object task_of(stateless_request& request, const job_record& record) const;
    outcome end_of_subscription(const json::value& id) const;
    std::string node_of_task(const stateless_request& request, std::string_view id) const;
    std::shared_ptr<void> observe_task(const stateless_request& request, const change& what,
                                       const change_listener::heard_function& heard) const;
    json::object discover(const caller& who) const;
    change_filter filter_of(const stateless_request& request) const;

    catalogue& offered_;
    change_hub& changes_;
    const task_view& tasks_;
    request_state states_;
};

}  // namespace cmcp
