#pragma once

#include "app/managers.hpp"
#include "config/settings.hpp"
#include "mcp/tool_registry.hpp"
#include "runs/python_run.hpp"
#include "sandbox/native_backend.hpp"
#include "test/execution/runs/run_support.hpp"
#include "tools/tools.hpp"

#include <string>

namespace cmcp::test {

inline sandbox::native_backend::options launcher_under_test()
{
    sandbox::native_backend::options options;
    options.launcher_path = std::string(CMCP_BUILD_DIR) + "/container-mcp-launcher";
    return options;
}

inline std::string zygote_path() { return std::string(CMCP_BUILD_DIR) + "/container-mcp-zygote"; }

/// The ways to start a Python run; the zygote's exists only where a zygote was built.
enum class way { cold, zygote };

inline std::vector<way> ways()
{
    if (std::filesystem::exists(zygote_path())) return {way::cold, way::zygote};
    return {way::cold};
}

inline sandbox::native_backend::options launcher_under_test(const settings& config, bool prepared)
{
    auto options = launcher_under_test();
    options.launcher.cells = config.max_live_sandboxes;
    if (prepared) options.launcher.zygote = python_manager::zygote(config, zygote_path());
    return options;
}

inline settings all_programs()
{
    settings config;
    config.bash_allowed_commands = {"*"};
    return config;
}

/// The system tools over the real sandbox, with a workspace that goes with the object.
struct system_stage {
    explicit system_stage(settings base = all_programs(), way started = way::cold)
        : prepared(started == way::zygote), config(with_root(std::move(base), folder))
    {
        if (prepared) REQUIRE(run_coroutine(io, backend.zygote_settles()));
        register_tools(registry, *all, config, [](const std::string& principal) {
            return json::object{{"principal", principal}};
        });
    }

    static settings with_root(settings config, const temporary_folder& folder)
    {
        config.sandbox_root = folder.path;
        return config;
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
        INFO(json::serialize(last.structured));
        CHECK(last.structured.contains("prepared") == prepared);  // a run that fell back to a cold start fails the test
        return last.structured;
    }
    std::filesystem::path workspace() const { return folder.path / "workspace"; }

    bool prepared;
    asio::io_context io;
    temporary_folder folder;
    settings config;
    sandbox::native_backend backend{io.get_executor(), launcher_under_test(config, prepared)};
    std::unique_ptr<managers> all = make_managers(config, backend, io.get_executor());
    recording_io progress{io.get_executor()};
    tool_registry registry;
    tool_result last;
};

inline std::string text(const json::object& from, std::string_view name)
{
    return std::string(from.at(name).as_string());
}

}  // namespace cmcp::test
