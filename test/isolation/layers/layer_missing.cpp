#include "probe/layer.hpp"
#include "test/support/catch.hpp"

using namespace cmcp::sandbox;

namespace {

using names = std::vector<std::string>;

layers with(const names& on, const names& degraded = {})
{
    layers all;
    for (const auto& name : on) all.push_back({name, layer::state::on, ""});
    for (const auto& name : degraded) all.push_back({name, layer::state::degraded, "partly"});
    all.push_back({"apparmor", layer::state::not_asked, ""});
    return all;
}

const names namespaces{"user_namespace", "pid_namespace", "mount_namespace", "ipc_namespace", "uts_namespace"};

}  // namespace

TEST_CASE("the group namespaces is there only with every one of its members")
{
    CHECK(missing(with(namespaces), {"namespaces"}).empty());
    for (std::size_t i = 0; i != namespaces.size(); ++i) {
        names fewer = namespaces;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK(missing(with(fewer), {"namespaces"}) == names{"namespaces"});
        CHECK(missing(with(fewer, {namespaces[i]}), {"namespaces"}) == names{"namespaces"});
    }
}

TEST_CASE("under Firejail a user of its own without capabilities stands in for a user namespace")
{
    names on{"firejail",        "own_uid",       "capabilities", "pid_namespace",
             "mount_namespace", "ipc_namespace", "uts_namespace"};
    CHECK(missing(with(on), {"namespaces"}).empty());
    for (std::size_t i = 0; i != on.size(); ++i) {
        names fewer = on;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK(missing(with(fewer), {"namespaces"}) == names{"namespaces"});
    }
}

TEST_CASE("limits need rlimits, a bound of processes, and memory that the kernel holds or the launcher watches")
{
    CHECK(missing(with({"rlimits", "pids", "memory"}), {"limits"}).empty());
    CHECK(missing(with({"rlimits", "pids", "watchdog"}), {"limits"}).empty());
    CHECK(missing(with({"rlimits", "pids"}, {"watchdog"}), {"limits"}) == names{"limits"});
    CHECK(missing(with({"pids", "memory"}, {"rlimits"}), {"limits"}) == names{"limits"});
    CHECK(missing(with({"rlimits", "memory", "watchdog"}), {"limits"}) == names{"limits"});
}

TEST_CASE("a degraded, unasked, unknown or absent layer counts as missing")
{
    CHECK(
        missing(with({"network_namespace"}, {"seccomp"}), {"no_network", "seccomp", "apparmor", "landlock", "magic"}) ==
        names{"seccomp", "apparmor", "landlock", "magic"});
    CHECK(missing({}, {}).empty());
}

TEST_CASE("the layers that a missing name is missing for are blamed, and no others")
{
    const names required{"namespaces", "limits", "seccomp"};
    CHECK(blamed(with({"user_namespace", "pid_namespace", "mount_namespace", "ipc_namespace", "rlimits", "pids",
                       "watchdog", "seccomp"},
                      {"uts_namespace"}),
                 required) == names{"uts_namespace"});
    CHECK(blamed(with({"seccomp"}), {"seccomp"}).empty());
    CHECK(blamed(with({"seccomp"}), {"no_network"}) == names{"network_namespace"});
}
