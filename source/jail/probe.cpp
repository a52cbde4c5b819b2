#include "jail/probe.hpp"

#include "jail/landlock.hpp"
#include "jail/probe_facts.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>

namespace cmcp::sandbox {
namespace {

// The id outside is in the second column; -1 where the map cannot be read.
std::int64_t outside_user()
{
    std::ifstream file("/proc/self/uid_map");
    std::int64_t inside = 0, outside = 0, count = 0;
    if (!(file >> inside >> outside >> count)) return -1;
    return outside + (static_cast<std::int64_t>(::getuid()) - inside);
}

std::string host_name()
{
    utsname names{};
    ::uname(&names);
    return names.nodename;
}

json::object identity_facts()
{
    return {{"pid", ::getpid()}, {"uid", ::getuid()}, {"outside_uid", outside_user()}, {"host_name", host_name()}};
}

void write_all(int fd, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR) return;
        if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

void report_probe(int fd)
{
    json::object facts;
    facts["identity"] = identity_facts();
    facts["namespaces"] = namespace_facts();
    add_layer_facts(facts);
    write_all(fd, json::serialize(facts));
}

json::object launcher_facts()
{
    json::object facts;
    facts["namespaces"] = namespace_facts();
    facts["uid"] = ::geteuid();
    facts["landlock_abi"] = landlock_abi();
    facts["landlock_levels"] = landlock_levels_left();
    return facts;
}

}  // namespace cmcp::sandbox
