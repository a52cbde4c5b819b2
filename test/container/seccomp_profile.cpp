#include "container/seccomp/profile.hpp"
#include "jail/syscall_rules.hpp"
#include "test/support/catch.hpp"

#include <boost/json.hpp>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace json = boost::json;

namespace {

std::set<std::string> allowed_by(const std::string& profile)
{
    std::set<std::string> names;
    const json::value parsed = json::parse(profile);
    for (const json::value& rule : parsed.at("syscalls").as_array())
        for (const json::value& name : rule.at("names").as_array()) names.emplace(name.as_string());
    return names;
}

}  // namespace

TEST_CASE("container/seccomp.json is what the sandbox's table says")
{
    std::ifstream file(CMCP_SOURCE_DIR "/container/seccomp.json");
    std::ostringstream text;
    text << file.rdbuf();
    INFO("build the target seccomp-profile and run: build/release/seccomp-profile > container/seccomp.json");
    CHECK(text.str() == cmcp::container::seccomp_profile());
}

TEST_CASE("the container's profile allows what a run may call")
{
    const auto names = allowed_by(cmcp::container::seccomp_profile());
    for (const auto call : cmcp::sandbox::allowed_syscalls()) {
        INFO(call);
        CHECK(names.count(std::string(call)) == 1);
    }
}

TEST_CASE("the container's profile keeps the kernel's dangerous interfaces shut")
{
    const auto names = allowed_by(cmcp::container::seccomp_profile());
    for (const char* call : {"ptrace",
                             "process_vm_writev",
                             "bpf",
                             "perf_event_open",
                             "userfaultfd",
                             "io_uring_setup",
                             "open_by_handle_at",
                             "kexec_load",
                             "init_module",
                             "finit_module",
                             "delete_module",
                             "reboot",
                             "swapon",
                             "iopl",
                             "ioperm",
                             "add_key",
                             "request_key",
                             "quotactl",
                             "acct",
                             "settimeofday",
                             "clock_settime",
                             "syslog",
                             "lookup_dcookie",
                             "fanotify_init",
                             "kcmp",
                             "modify_ldt",
                             "nfsservctl"}) {
        INFO(call);
        CHECK(names.count(call) == 0);
    }
}

TEST_CASE("the container's profile lets keyctl do one thing only")
{
    int rules = 0;
    const json::value parsed = json::parse(cmcp::container::seccomp_profile());
    for (const json::value& rule : parsed.at("syscalls").as_array()) {
        if (rule.at("names").as_array().front() != "keyctl") continue;
        ++rules;
        CHECK(rule.at("names").as_array().size() == 1);
        CHECK(rule.at("args").as_array().front().at("value").to_number<int>() == 1);
    }
    CHECK(rules == 1);
}
