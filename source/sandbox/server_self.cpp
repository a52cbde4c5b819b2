#include "sandbox/server_self.hpp"

#include "jail/apparmor.hpp"
#include "posix/unique_fd.hpp"
#include "sandbox/server_filter.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string>

namespace cmcp::sandbox {
namespace {

constexpr const char* own_profile = "container-mcp";

// Arguments that no kernel takes: without the filter the error is another.
bool executes_nothing() { return ::syscall(SYS_execve, nullptr, nullptr, nullptr) == -1 && errno == EPERM; }

bool makes_no_process()
{
    const long child = ::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) ::_exit(0);
    return child == -1 && errno == EPERM;
}

bool reaches_no_other_files()
{
    const unique_fd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return !root && errno == EACCES;
}

// Beside Landlock and the filter. It is entered by name, not by the path of the program: the launcher, which needs
// more, is not in it. Without AppArmor, without its profile, or in a container whose own profile forbids the change,
// the others still hold. The profile that is in force; empty: none.
std::string enter_own_profile()
{
    return apparmor_enabled() && enter_apparmor(own_profile) == 0 ? apparmor_profile() : std::string();
}

layer judge()
{
    layer found{"server_self", layer::state::on,
                "the server executes nothing, makes no processes and reaches only its own files"};
    const bool calls = executes_nothing() && makes_no_process();
    const bool files = reaches_no_other_files();
    if (calls && files) return found;
    found.is = calls || files ? layer::state::degraded : layer::state::off;
    found.detail = calls   ? "seccomp only: the kernel has no Landlock"
                   : files ? "Landlock only: there is no filter"
                           : "neither filter nor Landlock is in force";
    return found;
}

}  // namespace

layer confine_server(const landlock_rules& places)
try {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return {"server_self", layer::state::off, "a build with a sanitizer needs more than the filter allows"};
#endif
    const bpf_program filter = compile_server_filter();
    landlock_rules rules = places;
    rules.signals_outside = true;  // the launcher and the browser, which are not confined by it, can be ended
    const std::string profile = enter_own_profile();
    if (!apply_landlock(rules))
        return {"server_self", layer::state::off, std::string("Landlock: ") + std::strerror(errno)};
    if (!install_filter(filter))
        return {"server_self", layer::state::off, std::string("seccomp: ") + std::strerror(errno)};
    layer found = judge();
    if (!profile.empty()) found.detail += ", in the AppArmor profile " + profile;
    return found;
} catch (const std::exception& failure) {
    return {"server_self", layer::state::off, failure.what()};
}

}  // namespace cmcp::sandbox
