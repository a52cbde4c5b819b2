#include "posix/unique_fd.hpp"
#include "probe/probe.hpp"
#include "test/support/catch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

using namespace cmcp;
using namespace cmcp::sandbox;

namespace {

using state = layer::state;

json::object launcher()
{
    return json::parse(R"({"namespaces":{"user":1,"pid":2,"mnt":3,"net":4,"ipc":5,"uts":6,"cgroup":7,"time":8},
        "uid":0,"landlock_abi":7,"landlock_levels":16,"cgroups":{"memory":"cgroup v2","pids":"cgroup v2","cpu":"cgroup v1"},"watchdog":true,"workspace_quota":true,"usr_device":1})")
        .get_object();
}

json::object inside()
{
    return json::parse(R"({"identity":{"pid":2,"uid":1000,"outside_uid":200000,"host_name":"sandbox"},
        "namespaces":{"user":11,"pid":12,"mnt":13,"net":14,"ipc":15,"uts":16,"cgroup":17,"time":18},
        "no_new_privs":true,"seccomp_mode":2,"refused":{"unshare":true,"AF_VSOCK":true,"ptrace":true,"process_vm_readv":true,"keyctl":true,"add_key":true},
        "capabilities":{"held":0,"bounding":0,"ambient":0},"network":{"interfaces":["lo"],"unreachable":true},
        "limits":{"core":0,"cpu":60,"fsize":1000,"nofile":256,"nproc":64,"msgqueue":0},
        "proc":{"there":true,"own":true,"system_settings":false,"processes":[2],"figures":true},
        "outside_socket_refused":true,"core_limit_stays":true,"crash_leaves_no_core":true,"first_process_closed":true,"root_read_only":true,"apparmor":"",
        "landlock_levels":15,"usr_device":2,"forks":{"refused":true}})")
        .get_object();
}

layer find(const layers& all, std::string_view name)
{
    auto at = std::find_if(all.begin(), all.end(), [&](const layer& l) { return l.name == name; });
    REQUIRE(at != all.end());
    return *at;
}

state judged(const json::object& facts, std::string_view name)
{
    return find(evaluate_probe(facts, launcher()), name).is;
}

json::object changed(std::string_view pointer, json::value to)
{
    json::value facts = inside();
    facts.at_pointer(pointer) = std::move(to);
    return facts.get_object();
}

}  // namespace

TEST_CASE("a complete sandbox has every layer on but those it did not ask for")
{
    for (const layer& l : evaluate_probe(inside(), launcher())) {
        INFO(l.name << ": " << l.detail);
        CHECK(l.is == (l.name == "apparmor" || l.name == "firejail" ? state::not_asked : state::on));
        CHECK_FALSE(l.detail.empty());
    }
}

TEST_CASE("each fact that does not hold takes its own layer away")
{
    CHECK(judged(changed("/namespaces/user", 1), "user_namespace") == state::off);
    CHECK(judged(changed("/namespaces/pid", 2), "pid_namespace") == state::off);
    CHECK(judged(changed("/namespaces/mnt", 3), "mount_namespace") == state::off);
    CHECK(judged(changed("/namespaces/net", 4), "network_namespace") == state::off);
    CHECK(judged(changed("/root_read_only", false), "mount_namespace") == state::degraded);
    CHECK(judged(changed("/network/unreachable", false), "network_namespace") == state::off);
    CHECK(judged(changed("/network/interfaces", json::array({"lo", "eth0"})), "network_namespace") == state::off);
    CHECK(judged(changed("/refused/AF_VSOCK", false), "seccomp") == state::degraded);
    CHECK(judged(changed("/seccomp_mode", 0), "seccomp") == state::off);
    CHECK(judged(changed("/landlock_levels", 16), "landlock") == state::off);
    CHECK(judged(changed("/capabilities/held", 1), "capabilities") == state::off);
    CHECK(judged(changed("/no_new_privs", false), "no_new_privs") == state::off);
    CHECK(judged(changed("/limits/nproc", -1), "rlimits") == state::degraded);
    CHECK(judged(changed("/forks/refused", false), "pids") == state::off);
    CHECK(judged(changed("/identity/outside_uid", 0), "own_uid") == state::off);
    CHECK(judged(changed("/usr_device", 1), "own_files") == state::off);
    CHECK(judged(changed("/proc/own", false), "private_proc") == state::off);
    CHECK(find(evaluate_probe(changed("/proc/figures", false), launcher()), "private_proc").detail.find("no meminfo") !=
          std::string::npos);
    CHECK(judged(changed("/proc/processes", json::array({1, 2})), "private_proc") == state::degraded);
    CHECK(judged(changed("/outside_socket_refused", false), "landlock_scope") == state::off);
    CHECK(judged(changed("/core_limit_stays", false), "core_dumps") == state::degraded);
    CHECK(judged(changed("/crash_leaves_no_core", false), "core_dumps") == state::off);
    CHECK(judged(changed("/refused/keyctl", false), "keyrings") == state::off);
    CHECK(judged(changed("/refused/ptrace", false), "tracing") == state::off);
    CHECK(judged(changed("/first_process_closed", false), "tracing") == state::off);
}

TEST_CASE("memory and processors are held only where the kernel says so of a run")
{
    const auto with = [](const char* controller, json::value says) {
        json::object facts = launcher();
        facts.at("cgroups").as_object()[controller] = std::move(says);
        return find(evaluate_probe(inside(), facts), controller);
    };
    for (const char* controller : {"memory", "cpu"}) {
        CHECK(with(controller, "cgroup v1").is == state::on);
        CHECK(with(controller, nullptr).is == state::off);
        const layer lacking = with(controller, "no such controller is mounted here");
        CHECK(lacking.is == state::off);
        CHECK(lacking.detail.starts_with("no such controller is mounted here; "));
    }
    CHECK(with("pids", "not mounted").is == state::on);  // the limit of the user holds, too
}

TEST_CASE("the layer of workspaces says who holds their bounds")
{
    const auto detail = [](json::object facts) {
        return find(evaluate_probe(inside(), facts), "workspace_quota").detail;
    };
    auto facts = launcher();
    CHECK(detail(facts).starts_with("the launcher counts"));
    facts["project_obstacle"] = "no project quotas here";
    CHECK(detail(facts).ends_with("; no project quotas here"));
    facts["project_obstacle"] = "";
    CHECK(detail(facts).starts_with("project quotas: the kernel refuses"));
}

TEST_CASE("a probe that says nothing gives no layer")
{
    for (const layer& l : evaluate_probe({}, launcher())) {
        INFO(l.name);
        const bool of_the_launcher =
            l.name == "memory" || l.name == "cpu" || l.name == "watchdog" || l.name == "workspace_quota";
        if (!of_the_launcher) CHECK((l.is == state::off || l.is == state::not_asked));
    }
}

TEST_CASE("a probe outside of any sandbox is not taken for one")
{
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    unique_fd from(ends[0]), to(ends[1]);
    report_probe(to.get());
    std::string text(60'000, '\0');
    const ssize_t got = ::read(from.get(), text.data(), text.size());
    REQUIRE(got > 0);
    text.resize(static_cast<std::size_t>(got));
    const layers probed = evaluate_probe(json::parse(text).get_object(), launcher_facts());
    for (const char* name :
         {"user_namespace", "pid_namespace", "mount_namespace", "network_namespace", "landlock", "memory", "cpu"}) {
        INFO(name);
        CHECK(find(probed, name).is == state::off);
    }
}
