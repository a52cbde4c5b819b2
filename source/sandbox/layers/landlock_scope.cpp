#include "sandbox/layers/layer_check.hpp"

#include "posix/unique_fd.hpp"
#include "sandbox/outside_socket.hpp"

#include <cerrno>

namespace cmcp::sandbox {
namespace {

// The launcher's side has left a socket of that name there, made before the rules were in force.
bool is_kept_from_outside(const unique_fd& socket)
{
    const local_address to = outside_socket_address();
    const int result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length);
    return result != 0 && errno == EPERM;
}

void look(json::object& facts)
{
    const unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    facts["makes_no_local_socket"] = !socket;
    facts["outside_socket_refused"] = is_kept_from_outside(socket);
}

layer judge(const found_facts& found)
{
    constexpr int first_with_scopes = 6;
    const auto version = number(found.launcher, "landlock_abi").value_or(0);
    if (version < first_with_scopes) return off("needs Landlock ABI 6; here it is " + std::to_string(version));
    if (is_true(found.inside, "makes_no_local_socket"))
        return off("cannot be tried: seccomp lets a run make no socket that could connect to one outside");
    if (!is_true(found.inside, "outside_socket_refused")) return off("a run can connect to an abstract socket made outside its rules");
    return on("no signals to processes and no connections to abstract sockets outside the run");
}

}  // namespace

const layer_check landlock_scope_check{"landlock_scope", look, judge};

}  // namespace cmcp::sandbox
