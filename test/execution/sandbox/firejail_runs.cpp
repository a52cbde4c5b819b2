#include "test/execution/sandbox/run_support.hpp"

#include <signal.h>

#include <cstdio>
#include <fstream>
#include <memory>

namespace cmcp::sandbox::test {
namespace {

constexpr const char* program = "/usr/bin/firejail";

std::string what_it_says()
{
    const std::unique_ptr<FILE, int (*)(FILE*)> said(::popen("/usr/bin/firejail --noprofile /bin/true 2>&1", "r"),
                                                     ::pclose);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), said.get()));
    return text;
}

bool is_installed()
{
    std::string why;
    if (!std::filesystem::exists(program))
        why = "the package firejail is not installed";
    else if (what_it_says().find("existing sandbox") != std::string::npos)
        why = "Firejail confines nothing here, as it does inside of containers";
    if (!why.empty()) std::cout << "not tested: " << why << '\n';
    return why.empty();
}

/// A backend with Firejail, also where the other tests run without it.
struct firejail_stage {
    explicit firejail_stage(std::string launcher = launcher_under_test().launcher_path, std::string firejail = program)
        : backend(io.get_executor(), options(std::move(launcher), std::move(firejail)))
    {
    }

    static native_backend::options options(std::string launcher, std::string firejail)
    {
        native_backend::options options;
        options.launcher_path = std::move(launcher);
        options.launcher.firejail = std::move(firejail);
        return options;
    }

    run_result run(std::string code, program_view programs = {})
    {
        output.out.clear();
        run_request wanted;
        wanted.argv = {"/usr/bin/bash", "-c", std::move(code)};
        wanted.workspace = workspace.path;
        wanted.programs = std::move(programs);
        wanted.limits.wall = std::chrono::seconds(10);
        return cmcp::test::run_coroutine(io, backend.run(std::move(wanted), output), std::chrono::seconds(40));
    }

    layer::state state(std::string_view name)
    {
        const layers probed = cmcp::test::run_coroutine(io, backend.probe(), std::chrono::seconds(40));
        for (const auto& each : probed)
            if (each.name == name) return each.is;
        return layer::state::not_asked;
    }

    asio::io_context io;
    temporary_workspace workspace;
    native_backend backend;
    capture output;
};

/// A program of these lines, in a folder that goes with the object.
struct script {
    explicit script(const std::string& lines) : path(folder.path + "/program")
    {
        std::ofstream(path) << "#!/bin/bash\n" << lines;
        std::filesystem::permissions(path, std::filesystem::perms::all & ~(std::filesystem::perms::group_write |
                                                                           std::filesystem::perms::others_write));
    }
    temporary_workspace folder;
    std::string path;
};

bool has_profiles(int launcher)
{
    const std::string name = "container-mcp-firejail-" + std::to_string(launcher) + "-";
    for (const auto& entry : std::filesystem::directory_iterator("/tmp"))
        if (entry.path().filename().string().starts_with(name)) return true;
    return false;
}

}  // namespace

TEST_CASE("Firejail makes the namespaces, and every layer that must be there is on")
{
    if (!is_installed()) return;
    firejail_stage s;
    CHECK(s.backend.name() == "firejail");
    for (const char* name : {"firejail", "pid_namespace", "mount_namespace", "network_namespace", "ipc_namespace",
                             "uts_namespace", "seccomp", "capabilities", "no_new_privs", "rlimits", "core_dumps",
                             "keyrings", "tracing", "watchdog", "workspace_quota"}) {
        INFO(name);
        CHECK(s.state(name) == layer::state::on);
    }
    const layers probed = cmcp::test::run_coroutine(s.io, s.backend.probe(), std::chrono::seconds(40));
    CHECK(missing(probed, {"namespaces", "seccomp", "no_network", "limits"}).empty());
}

TEST_CASE("under Firejail a run may write to its workspace and to memory, and to nothing else")
{
    if (!is_installed()) return;
    firejail_stage s;
    s.run(
        "for d in / /etc /usr /home /root /var /run /run/firejail /run/firejail/mnt /dev /srv \"$OLDPWD\" ~ /tmp "
        "/dev/shm; do "
        "touch $d/probe 2>/dev/null && echo $d; done; true");
    CHECK(s.output.out == s.workspace.path + "\n/tmp\n/dev/shm\n");
    CHECK(std::filesystem::exists(s.workspace.path + "/probe"));
    CHECK_FALSE(std::filesystem::exists("/tmp/probe"));
}

TEST_CASE("under Firejail only the programs of an allow-list are there")
{
    if (!is_installed()) return;
    firejail_stage s;
    s.run("ls /usr/bin /usr/sbin /usr/local/bin; cp /usr/bin/ls ./copied && ./copied", {false, {"ls", "cp"}});
    CHECK(s.output.out.find("bash\n") != std::string::npos);
    CHECK(s.output.out.find("cp\n") != std::string::npos);
    for (const char* other : {"id\n", "firejail\n", "python3\n", "su\n", "container-mcp"})
        CHECK(s.output.out.find(other) == std::string::npos);
    CHECK(s.output.err.find("Permission denied") != std::string::npos);
    s.output.err.clear();
    CHECK(s.run("/usr/bin/id", {false, {"ls"}}).exit_code == 127);
}

TEST_CASE("where Firejail runs programs unconfined, none is run, and the sentence says what to do")
{
    if (!is_installed() || ::getuid() != 0) return;
    // Firejail inside a PID namespace believes that a sandbox exists already, and runs the program without one.
    const script launcher("exec unshare --pid --mount --fork --mount-proc " + launcher_under_test().launcher_path +
                          " \"$@\"\n");
    firejail_stage s(launcher.path);
    const run_result result = s.run("touch ran");
    CHECK(result.why == cause::setup_failed);
    INFO(result.error);
    CHECK(result.error.find("Nothing was run") != std::string::npos);
    CHECK(result.error.find("SANDBOX_BACKEND=native") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(s.workspace.path + "/ran"));
    CHECK(s.state("firejail") != layer::state::on);
    CHECK(s.state("pid_namespace") == layer::state::off);
}

TEST_CASE("a Firejail that confines nothing is found out before anything is run")
{
    if (!is_installed() || ::getuid() != 0) return;
    const script pretender(
        "[ \"$1\" = --version ] && { echo firejail version 0.0; exit; }\n"
        "while [ $# -gt 2 ]; do shift; done\nexec \"$@\"\n");
    firejail_stage s(launcher_under_test().launcher_path, pretender.path);
    const run_result result = s.run("touch ran");
    CHECK(result.why == cause::setup_failed);
    INFO(result.error);
    CHECK(result.error.find("no namespace of its own") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(s.workspace.path + "/ran"));
}

TEST_CASE("without Firejail a run is refused with the package's name")
{
    firejail_stage s(launcher_under_test().launcher_path, "/usr/bin/no-firejail-here");
    const run_result result = s.run("touch ran");
    CHECK(result.why == cause::setup_failed);
    CHECK(result.error.find("Install Debian's package firejail") != std::string::npos);
}

TEST_CASE("a folder whose name Firejail would take for a pattern is refused")
{
    if (!is_installed()) return;
    firejail_stage s;
    const std::string odd = s.workspace.path + "/a*b";
    std::filesystem::create_directory(odd);
    run_request wanted;
    wanted.argv = {"/usr/bin/bash", "-c", "true"};
    wanted.workspace = odd;
    const auto result =
        cmcp::test::run_coroutine(s.io, s.backend.run(std::move(wanted), s.output), std::chrono::seconds(40));
    CHECK(result.why == cause::setup_failed);
    INFO(result.error);
    CHECK(result.error.find("plain letters") != std::string::npos);
}

TEST_CASE("the end of the launcher leaves no profiles behind")
{
    if (!is_installed()) return;
    int launcher = 0;
    {
        firejail_stage s;
        s.run("true");
        launcher = s.backend.launcher_pid();
        CHECK(has_profiles(launcher));
    }
    CHECK_FALSE(has_profiles(launcher));
}

TEST_CASE("the profiles of a launcher that was killed go with the next one")
{
    if (!is_installed()) return;
    firejail_stage s;
    s.run("true");
    const int killed = s.backend.launcher_pid();
    CHECK(::kill(killed, SIGKILL) == 0);
    while (s.run("true").why != cause::exited) {
    }  // while the launcher's end is still unknown
    CHECK_FALSE(has_profiles(killed));
    CHECK(has_profiles(s.backend.launcher_pid()));
}

}  // namespace cmcp::sandbox::test
