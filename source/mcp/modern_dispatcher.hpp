#pragma once

#include "jsonrpc/message.hpp"
#include "mcp/catalogue.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/held_subscription.hpp"
#include "mcp/modern_calls.hpp"
#include "mcp/modern_request.hpp"
#include "mcp/request_register.hpp"
#include "mcp/task_view.hpp"

namespace cmcp {

/// Revision 2026-07-28: every request stands for itself.
class modern_dispatcher {
public:
    /// `keep_alive` gives what must live as long as a call that went on as a task.
    modern_dispatcher(asio::any_io_executor executor, catalogue& offered, request_register& requests,
                      change_hub& changes, const task_view& tasks, std::function<std::shared_ptr<void>()> keep_alive)
        : offered_(offered),
          requests_(requests),
          changes_(changes),
          tasks_(tasks),
          calls_(offered, tasks, std::move(keep_alive)),
          answers_(std::move(executor))
    {
    }

    /// `keeps`: what must live as long as the request; `ends`: as running_request's.
    awaitable<> request(std::shared_ptr<void> keeps, std::string principal, std::shared_ptr<jsonrpc::request> incoming,
                        std::shared_ptr<message_sink> reply, std::shared_ptr<canceller> ends);

    /// The same in a coroutine of `requests`, where it needs one. `ends` is cancelled when nobody waits any more.
    void start(task_group& requests, std::shared_ptr<void> keeps, std::string principal,
               std::shared_ptr<jsonrpc::request> incoming, std::shared_ptr<message_sink> reply,
               std::shared_ptr<canceller> ends);

private:
    awaitable<json::object> execute(std::shared_ptr<modern_request> incoming, std::shared_ptr<message_sink> reply,
                                    std::shared_ptr<running_request> running);
    awaitable<json::object> listen(std::shared_ptr<modern_request> incoming, std::shared_ptr<message_sink> reply);
    void hold(std::shared_ptr<void> keeps, std::string principal, std::shared_ptr<jsonrpc::request> incoming,
              std::shared_ptr<message_sink> reply, std::shared_ptr<canceller> ends);
    std::unique_ptr<request_register::entry> begin(const modern_request& incoming, std::shared_ptr<canceller> ends);
    change_hub::observe_function observer_for(const std::shared_ptr<modern_request>& incoming) const;
    outcome end_of_subscription(const json::value& id) const;
    json::object discover() const;
    change_filter filter_of(const modern_request& incoming) const;
    void check(const std::string& method) const;

    catalogue& offered_;
    request_register& requests_;
    change_hub& changes_;
    const task_view& tasks_;
    modern_calls calls_;
    task_group answers_;
};

}  // namespace cmcp
