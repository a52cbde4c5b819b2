#pragma once

#include "config/settings.hpp"
#include "sandboxes/job_manager.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "test/program/tools/system_support.hpp"
#include "text/encodings.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cmcp::test {

namespace fs = std::filesystem;

/// The tools of sandboxes over the real sandbox, with calls as other owners.
struct sandbox_stage : system_stage {
    explicit sandbox_stage(settings base = all_programs(), way started = way::cold)
        : system_stage(std::move(base), started)
    {
        run_coroutine(io, backend.probe());
    }

    ~sandbox_stage() { run_coroutine(io, all->stop(), std::chrono::seconds(20)); }

    json::object as(const std::string& principal, std::string name, json::object arguments)
    {
        caller who;
        who.principal = principal;
        last =
            run_coroutine(io, start(std::move(name), std::move(arguments), std::move(who)), std::chrono::seconds(60));
        return last.structured;
    }
    json::object tool(std::string name, json::object arguments = {})
    {
        last = call(std::move(name), std::move(arguments));
        return last.structured;
    }
    std::string create(std::string name = {})
    {
        json::object arguments;
        if (!name.empty()) arguments["name"] = name;
        return text(tool("create_sandbox", std::move(arguments)), "sandbox_id");
    }
    json::object python_in(const std::string& id, std::string code)
    {
        return tool("execute_python_code", {{"sandbox_id", id}, {"code", code}});
    }
    json::object shell_in(const std::string& id, std::string command)
    {
        return tool("execute_terminal_command", {{"sandbox_id", id}, {"command", command}});
    }
    void run_until(const std::function<bool()>& happened)
    {
        io.restart();
        while (!happened()) REQUIRE(io.run_one() == 1);
    }
    fs::path files_of(const std::string& id) const { return folder.path / "sandboxes" / id / "workspace"; }
};

inline std::vector<std::string> strings(const json::object& from, std::string_view name)
{
    std::vector<std::string> all;
    for (const auto& each : from.at(name).as_array()) all.emplace_back(each.as_string());
    return all;
}

/// A sandbox and calls in its kernel.
struct kernel_stage : sandbox_stage {
    using sandbox_stage::sandbox_stage;
    json::object keep(std::string code, json::object more = {})
    {
        more["sandbox_id"] = id;
        more["code"] = code;
        more["stateful"] = true;
        return tool("execute_python_code", std::move(more));
    }
    std::string id = create();
};

}  // namespace cmcp::test
