#include "local/network_helper.hpp"

#include "facilities/setup_step.hpp"
#include "local/local_policy.hpp"
#include "posix/child_process.hpp"
#include "posix/spawn_setup.hpp"
#include "wire/packet_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

std::string server_program()
{
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path program = here / "container-mcp";
    if (::access(program.c_str(), X_OK) == 0) return program.string();
    throw step_failed("find the program container-mcp, which serves the network", ENOENT);
}

}  // namespace

network_helper::network_helper(const network_order& order)
{
    auto [ours, theirs] = packet_socket_pair();
    std::string program = server_program();
    char* argv[] = {program.data(), const_cast<char*>(network_role), nullptr};
    spawn_setup setup;
    constexpr int link_there = 3;
    const unique_fd apart(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, link_there + 1));
    setup.give(apart.get(), link_there);
    setup.give_nothing(0, O_RDONLY);
    setup.give_nothing(1, O_WRONLY);
    const int error = ::posix_spawn(&process_, program.c_str(), setup.actions(), setup.attributes(), argv, environ);
    if (error != 0) throw step_failed("start " + program, error);
    theirs.reset();
    link_ = std::move(ours);
    send_packet_waiting(link_.get(), encoded(order));
    const packet answer = await_packet(link_.get());
    if (answer.bytes.empty()) throw step_failed("start the network of the sandbox", ECONNRESET);
    wire_reader in(answer.bytes);
    std::string refusal;
    in(ports_, refusal);
    if (!refusal.empty()) throw bad_policy(refusal);
}

network_helper::~network_helper()
{
    link_.reset();
    collect_child(process_);
}

void network_helper::serve(std::vector<unique_fd> doors)
{
    const packet message{"d", std::move(doors)};
    if (!send_packet(link_.get(), message)) throw step_failed("hand over the sandbox's network", EAGAIN);
}

std::vector<denial> network_helper::finish()
{
    ::shutdown(link_.get(), SHUT_WR);
    std::vector<denial> refused;
    for (;;) {
        const packet message = await_packet(link_.get());
        if (message.bytes.empty()) return refused;
        refused.push_back(decoded<denial>(message.bytes));
    }
}

}  // namespace cmcp::sandbox
