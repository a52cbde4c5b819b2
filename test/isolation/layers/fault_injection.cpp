#include "facilities/landlock.hpp"
#include "test/execution/sandbox/run_support.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace cmcp::sandbox::test {
namespace {

namespace fs = std::filesystem;

/// A stage whose launcher fails with, or leaves out, one layer.
struct faulty {
    faulty(const std::string& what, const std::string& layer)
    {
        const std::string link = base.path + "/launcher";
        fs::create_symlink(std::string(CMCP_BUILD_DIR) + "/test/faulty-launcher", link);
        std::ofstream(link + ".faults") << what << " " << layer << "\n";
        native_backend::options options;
        options.launcher_path = link;
        backend.emplace(io.get_executor(), options);
    }

    run_result run(const std::string& code)
    {
        run_request wanted;
        wanted.argv = {"/usr/bin/bash", "-c", code};
        wanted.workspace = workspace.path;
        return cmcp::test::run_coroutine(io, backend->run(std::move(wanted), output));
    }

    layers probe() { return cmcp::test::run_coroutine(io, backend->probe()); }

    asio::io_context io;
    temporary_workspace base, workspace;
    std::optional<native_backend> backend;
    capture output;
};

layer named(const layers& all, const std::string& name)
{
    const auto entry = std::find_if(all.begin(), all.end(), [&](const layer& each) { return each.name == name; });
    REQUIRE(entry != all.end());
    return *entry;
}

constexpr const char* can_fail[] = {
    "user_namespace",   "pid_namespace",  "mount_namespace", "network_namespace", "ipc_namespace", "uts_namespace",
    "cgroup_namespace", "time_namespace", "seccomp",         "landlock",          "capabilities",  "no_new_privs",
    "rlimits",          "keyrings",       "own_uid",         "private_proc",      "mounts"};

}  // namespace

TEST_CASE("a layer that cannot be set up ends the run before anything is executed")
{
    for (const std::string name : can_fail) {
        faulty s("fail", name);
        const auto result = s.run("echo ran; echo ran > ran");
        INFO(name << ": " << result.error << s.output.out << s.output.err);
        CHECK(result.why == cause::setup_failed);
        CHECK(result.error.find("layer " + name) != std::string::npos);
        CHECK(result.error.find("Nothing was run") != std::string::npos);
        CHECK(s.output.out.empty());
        CHECK_FALSE(fs::exists(s.workspace.path + "/ran"));
    }
}

TEST_CASE("where a layer cannot be set up the report has no layer on and a server that needs it does not start")
{
    for (const std::string name : can_fail) {
        faulty s("fail", name);
        const layers probed = s.probe();
        INFO(name);
        CHECK(missing(probed, {"namespaces", "seccomp", "no_network", "limits"}).size() == 4);
        CHECK(named(probed, "seccomp").detail.find("layer " + name) != std::string::npos);
    }
}

TEST_CASE("a layer that is left out without a word is found missing by its effect")
{
    constexpr std::pair<const char*, const char*> group[] = {{"ipc_namespace", "namespaces"},
                                                             {"uts_namespace", "namespaces"},
                                                             {"cgroup_namespace", "cgroup_namespace"},
                                                             {"time_namespace", "time_namespace"},
                                                             {"seccomp", "seccomp"},
                                                             {"capabilities", "capabilities"},
                                                             {"rlimits", "rlimits"},
                                                             {"private_proc", "private_proc"},
                                                             {"network_namespace", "no_network"}};
    for (const auto& [name, required] : group) {
        faulty s("leave_out", name);
        const layers probed = s.probe();
        INFO(name << " " << named(probed, name).detail);
        CHECK(named(probed, name).is != layer::state::on);
        CHECK(missing(probed, {required}) == std::vector<std::string>{required});
    }
    if (landlock_abi() == 0) return;
    faulty s("leave_out", "landlock");
    const layers probed = s.probe();
    CHECK(named(probed, "landlock").is == layer::state::off);
    CHECK(named(probed, "landlock_scope").is == layer::state::off);
}

TEST_CASE("where a run is in no cgroup nothing is told to hold its memory and its share of the processors")
{
    faulty s("leave_out", "cgroup");
    const layers probed = s.probe();
    for (const char* name : {"memory", "cpu"}) {
        INFO(named(probed, name).detail);
        CHECK(named(probed, name).is == layer::state::off);
    }
}

TEST_CASE("the faulty launcher without orders is like the product")
{
    faulty s("fail", "nothing");
    CHECK(s.run("echo ran").why == cause::exited);
    CHECK(s.output.out == "ran\n");
    CHECK(missing(s.probe(), {"namespaces", "seccomp", "no_network", "limits"}).empty());
}

}  // namespace cmcp::sandbox::test
