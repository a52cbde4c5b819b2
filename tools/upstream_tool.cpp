#include "async/event.hpp"
#include "async/task_group.hpp"
#include "mcp/code_tools.hpp"
#include "mcp/params.hpp"
#include "mcp/tool_registry.hpp"
#include "tools/field.hpp"
#include "tools/tools.hpp"
#include "upstream/upstream_servers.hpp"

#include <boost/asio/this_coro.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace cmcp {
namespace {

tool_result result_from(json::object answer)
{
    tool_result result;
    if (auto* structured = answer.if_contains("structuredContent"); structured != nullptr && structured->is_object())
        result.structured = std::move(structured->get_object());
    if (auto* content = answer.if_contains("content"); content != nullptr && content->is_array())
        result.content = std::move(content->get_array());
    const auto* failed = answer.if_contains("isError");
    result.is_error = failed != nullptr && failed->is_bool() && failed->get_bool();
    return result;
}

/// A call of another server, and what came of it so far.
struct call_under_way {
    event changed;
    std::optional<upstream_progress> latest;  ///< not passed on yet
    std::optional<tool_result> result;
    std::exception_ptr failure;
};

awaitable<> follow(upstream_servers& servers, std::string principal, json::object arguments,
                   std::shared_ptr<call_under_way> call)
{
    try {
        const auto on_progress = [call](const upstream_progress& far) {
            call->latest = far;
            call->changed.notify();
        };
        auto answer = co_await servers.call(std::move(principal), required_string(arguments, "server"),
                                            required_string(arguments, "tool"), optional_object(arguments, "arguments"),
                                            on_progress);
        call->result = result_from(std::move(answer));
    } catch (const upstream_problem& problem) {
        call->result = tool_failure(problem.what());
    } catch (...) {
        call->failure = std::current_exception();
    }
    call->changed.notify();
}

class call_upstream final : public tool {
public:
    explicit call_upstream(upstream_servers& servers) : servers_(servers)
    {
        about_.name = upstream_tool_name;
        about_.title = "Call a tool of another server";
        about_.description = "For code in sandboxes.";
        about_.input_schema = schema::object("",
                                             {{"server", schema::string("Its name in config.toml")},
                                              {"tool", schema::string("The name that the server gives it")},
                                              {"arguments", schema::object("As the tool wants them", {})}},
                                             {"server", "tool"});
        about_.needs = scope::read;
        about_.for_code_alone = true;
    }

    const tool_definition& definition() const override { return about_; }

    awaitable<tool_result> call(tool_context& context, json::object arguments) override
    {
        const auto executor = co_await asio::this_coro::executor;
        const auto under_way = std::make_shared<call_under_way>();
        task_group calls(executor);
        calls.spawn("call of another server", follow(servers_, context.who.principal, std::move(arguments), under_way));
        while (!under_way->result && !under_way->failure) {
            co_await under_way->changed.wait();
            auto far = std::exchange(under_way->latest, std::nullopt);
            if (far) co_await context.io.progress(far->progress, far->total, std::move(far->message));
        }
        if (under_way->failure) std::rethrow_exception(under_way->failure);
        co_return std::move(*under_way->result);
    }

private:
    upstream_servers& servers_;
    tool_definition about_;
};

}  // namespace

other_tools tools_of_upstreams(upstream_servers& servers)
{
    return {std::bind_front(&upstream_servers::described_tools, &servers),
            std::bind_front(&upstream_servers::reads_only, &servers)};
}

tool_owner make_call_upstream(upstream_servers& servers) { return std::make_unique<call_upstream>(servers); }

}  // namespace cmcp
