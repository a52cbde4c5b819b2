#pragma once

#include "managers/managers.hpp"
#include "mcp/tool_registry.hpp"
#include "sandbox/native_backend.hpp"
#include "test/managers/run_support.hpp"
#include "tools/register_tools.hpp"

#include <string>

namespace cmcp::test {

inline sandbox::native_backend::options launcher_under_test()
{
    sandbox::native_backend::options chosen;
    chosen.launcher_path = std::string(CMCP_BUILD_DIR) + "/container-mcp-launcher";
    return chosen;
}

inline settings all_programs()
{
    settings chosen;
    chosen.bash_allowed_commands = {"*"};
    return chosen;
}

/// The system tools over the real sandbox, with a workspace that goes with the object.
struct system_stage {
    explicit system_stage(settings given = all_programs()) : chosen(with_root(std::move(given), folder))
    {
        register_tools(registry, *all, chosen);
    }

    static settings with_root(settings chosen, const temporary_folder& folder)
    {
        chosen.sandbox_root = folder.path;
        return chosen;
    }

    awaitable<tool_result> start(std::string name, json::object arguments, caller who = {})
    {
        tool_context context{who, progress, "test-1", {}, {}};
        auto result = co_await registry.find(name)->call(context, std::move(arguments));
        co_return result;
    }
    tool_result call(std::string name, json::object arguments)
    {
        INFO(registry.validate(name, arguments));
        CHECK(registry.validate(name, arguments).empty());
        return run_coroutine(io, start(std::move(name), std::move(arguments)), std::chrono::seconds(60));
    }
    json::object bash(std::string command, json::object more = {})
    {
        more["command"] = command;
        last = call("system_run_command", std::move(more));
        return last.structured;
    }
    json::object python(std::string code, json::object more = {})
    {
        more["code"] = code;
        last = call("system_run_python", std::move(more));
        return last.structured;
    }
    std::filesystem::path workspace() const { return folder.path / "workspace"; }

    asio::io_context io;
    temporary_folder folder;
    settings chosen;
    sandbox::native_backend backend{io.get_executor(), launcher_under_test()};
    std::unique_ptr<managers> all = make_managers(chosen, backend, io.get_executor());
    recording_io progress{io.get_executor()};
    tool_registry registry;
    tool_result last;
};

inline std::string text(const json::object& from, std::string_view name) { return std::string(from.at(name).as_string()); }

}  // namespace cmcp::test
