#pragma once

#include "limits/cgroup_files.hpp"
#include "sandbox/native_backend.hpp"
#include "test/support/catch.hpp"
#include "test/support/eventually.hpp"
#include "test/support/run_coroutine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include <unistd.h>

namespace cmcp::sandbox::test {

/// Collects what a run prints.
class capture final : public output_receiver {
public:
    awaitable<> receive(stream from, std::string_view bytes) override
    {
        (from == stream::out ? out : err).append(bytes);
        co_return;
    }
    std::string out;
    std::string err;
};

/// An empty workspace folder that goes with the object. The server's AppArmor profile allows its name below /tmp.
class temporary_workspace {
public:
    temporary_workspace()
    {
        std::string name = "/tmp/container-mcp-test-XXXXXX";
        if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
        path = name;
    }
    temporary_workspace(const temporary_workspace&) = delete;
    temporary_workspace& operator=(const temporary_workspace&) = delete;
    ~temporary_workspace()
    {
        std::error_code failed;
        std::filesystem::remove_all(path, failed);
        // remove_all opens a descriptor for each level, which is too many for the deepest tree of the tests. The
        // program rm needs only a few.
        if (failed && std::system(("rm -rf " + path).c_str()) != 0) std::fprintf(stderr, "%s is left\n", path.c_str());
    }
    std::string path;
};

/// ctest runs the tests of runs a second time with CMCP_TEST_BACKEND=firejail.
inline bool under_firejail()
{
    const char* name = std::getenv("CMCP_TEST_BACKEND");
    return name != nullptr && std::string_view(name) == "firejail";
}

/// ctest runs the tests of runs a third time with CMCP_TEST_WAITING=1, where standby runs serve them.
inline bool with_waiting() { return std::getenv("CMCP_TEST_WAITING") != nullptr; }

/// ctest runs the tests of runs a fourth time with CMCP_TEST_CGROUPS=off, where measurers take the cgroups' place.
inline bool without_cgroups() { return std::getenv("CMCP_TEST_CGROUPS") != nullptr; }

/// Returns true under Firejail, for checks that Firejail cannot pass, and prints the reason in the form that ctest
/// knows.
inline bool not_held(const std::string& why)
{
    if (under_firejail()) std::cout << "not tested: " << why << '\n';
    return under_firejail();
}

/// `ls` and `id` print other places and users in Firejail, because Firejail mounts a workspace only at an existing
/// path, and under root its run keeps the user from outside.
inline std::string user_inside()
{
    constexpr unsigned first_of_range = 200'000;
    if (!under_firejail()) return "1000";
    return std::to_string(::getuid() == 0 ? first_of_range : ::getuid());
}

inline native_backend::options launcher_under_test()
{
    native_backend::options options;
    options.launcher_path = std::string(CMCP_BUILD_DIR) + "/container-mcp-launcher";
    if (under_firejail()) options.launcher.firejail = "/usr/bin/firejail";
    if (with_waiting()) options.launcher.waiting = 2;
    options.launcher.use_cgroups = !without_cgroups();
    return options;
}

using cmcp::test::eventually, cmcp::test::slowness;

/// A backend on an io_context of its own, a workspace, and what the last run printed.
struct stage {
    explicit stage(native_backend::options options = launcher_under_test())
        : backend(io.get_executor(), std::move(options))
    {
    }

    asio::io_context io;
    temporary_workspace workspace;
    std::string inside{under_firejail() ? workspace.path : "/workspace"};  ///< the workspace, seen from a run
    native_backend backend;
    capture output;

    run_request request(std::vector<std::string> argv)
    {
        run_request request;
        request.argv = std::move(argv);
        request.workspace = workspace.path;
        request.limits.wall = std::chrono::seconds(10) * slowness();
        return request;
    }
    run_request bash(std::string code) { return request({"/usr/bin/bash", "-c", std::move(code)}); }
    run_request python(std::string code) { return request({"/usr/bin/python3", "-c", std::move(code)}); }

    run_result run(run_request wanted)
    {
        if (with_waiting()) await_waiting(wanted);
        auto result = run_now(std::move(wanted));
        INFO("error: " << result.error << "\nstderr: " << output.err);
        CHECK(result.error.empty());
        return result;
    }

    run_result run_now(run_request wanted)
    {
        output.out.clear();
        output.err.clear();
        const auto limit = std::chrono::seconds(100) * slowness();
        return cmcp::test::run_coroutine(io, backend.run(std::move(wanted), output), limit);
    }

    /// Repeats an empty run of the same kind until a standby run has served it, because the standby pool then has more.
    /// Returns false when no standby run ever serves this kind.
    bool await_waiting(run_request wanted)
    {
        const bool bash = wanted.argv.at(0).ends_with("bash");
        if (!bash && !wanted.argv.at(0).ends_with("python3")) return false;
        wanted.argv = {wanted.argv.at(0), "-c", bash ? "true" : "pass"};
        wanted.input.reset();
        wanted.script.reset();
        wanted.channel.reset();
        wanted.limits.wall = std::chrono::seconds(10);
        wanted.limits.cpu = std::chrono::seconds(0);
        wanted.working_dir.clear();
        constexpr int most_tries = 200;
        for (int i = 0; i < most_tries; ++i) {
            const run_result result = run_now(wanted);
            if (result.waited) return true;
            if (result.why != cause::exited) return false;  // even an empty run breaks these limits
        }
        return false;
    }
};

/// Whether the probe finds a layer on.
inline bool is_on(stage& s, std::string_view name)
{
    const layers probed = cmcp::test::run_coroutine(s.io, s.backend.probe());
    return std::ranges::any_of(probed,
                               [&](const layer& each) { return each.name == name && each.is == layer::state::on; });
}

/// Process ids and program names of the children of `parent`.
inline std::map<int, std::string> children_of(int parent)
{
    std::map<int, std::string> children;
    const std::string line = "\nPPid:\t" + std::to_string(parent) + "\n", name = "Name:\t";
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string text = read_control(entry.path() / "status");  // empty: it has ended meanwhile
        if (text.find(line) == std::string::npos || !text.starts_with(name)) continue;
        children[std::stoi(entry.path().filename())] = text.substr(name.size(), text.find('\n') - name.size());
    }
    return children;
}

}  // namespace cmcp::sandbox::test
