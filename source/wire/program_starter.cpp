#include "wire/program_starter.hpp"

#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <system_error>

namespace cmcp::sandbox {

template <class Wire>
void fields(Wire& wire, wired<Wire, startable_program>& program)
{
    wire(program.path, program.arguments);
}

namespace {

constexpr int patience_ms = 5000;

// Of this process: it has one helper or none.
struct helper_state {
    unique_fd socket;
    std::vector<startable_program> programs;
};

helper_state& helper()
{
    static helper_state only;
    return only;
}

spawn_order order_for(const std::string& path, const std::vector<std::string>& arguments)
{
    spawn_order order{path, {path.substr(path.rfind('/') + 1)}, {}};
    order.arguments.insert(order.arguments.end(), arguments.begin(), arguments.end());
    return order;
}

// Nothing when the other end is gone, or does not answer in time.
std::optional<packet> wait_for_packet(int socket, int limit_ms)
{
    pollfd wait{socket, POLLIN, 0};
    int ready = 0;
    while ((ready = ::poll(&wait, 1, limit_ms)) < 0 && errno == EINTR) {
    }
    if (ready != 1) return std::nullopt;
    auto received = receive_packet(socket);
    return received && !received->bytes.empty() ? std::move(received) : std::nullopt;
}

void answer(int socket, const std::vector<startable_program>& programs, packet& order)
{
    started_program started;
    int error = EINVAL;
    try {
        const auto number = decoded<std::uint32_t>(order.bytes);
        if (number < programs.size() && order.descriptors.size() == 1) {
            const auto& program = programs[number];
            started = spawn_program(order_for(program.path, program.arguments), order.descriptors[0].get());
            error = 0;
        }
    } catch (const std::system_error& failure) {
        error = failure.code().value();
    }
    const int fd = started.pidfd.get();
    send_packet(socket, encoded(error, started.pid), {&fd, started.pidfd ? 1u : 0u});
}

std::uint32_t number_of(const std::string& path)
{
    const auto& programs = helper().programs;
    const auto place =
        std::find_if(programs.begin(), programs.end(), [&](const auto& each) { return each.path == path; });
    if (place == programs.end())
        throw std::system_error(EPERM, std::system_category(),
                                path + " is not among the programs that the server may have started");
    return static_cast<std::uint32_t>(place - programs.begin());
}

}  // namespace

void start_programs_through_helper(const std::string& launcher_path, const std::vector<startable_program>& programs)
{
    auto [ours, theirs] = packet_socket_pair();
    spawn_program(order_for(launcher_path, {"--starter"}), theirs.get());
    send_packet(ours.get(), encoded(programs));
    helper() = {std::move(ours), programs};  // its end is the helper's
}

started_program start_program(const std::string& path, const std::vector<std::string>& arguments, int socket)
{
    const int to = helper().socket.get();
    if (to < 0) return spawn_program(order_for(path, arguments), socket);
    send_packet(to, encoded(number_of(path)), {&socket, 1});
    auto answered = wait_for_packet(to, patience_ms);
    if (!answered) throw std::system_error(EPIPE, std::system_category(), "the helper that starts programs is gone");
    int error = 0;
    pid_t pid = -1;
    wire_reader in(answered->bytes);
    in(error, pid);
    if (error != 0 || answered->descriptors.empty())
        throw std::system_error(error, std::system_category(), "cannot start " + path);
    return {pid, std::move(answered->descriptors.front())};
}

void serve_program_starter(int socket)
{
    ::signal(SIGCHLD, SIG_IGN);  // nobody waits for what is started here: it is gone when it ends
    const auto list = wait_for_packet(socket, -1);
    if (!list) return;
    const auto programs = decoded<std::vector<startable_program>>(list->bytes);
    while (auto order = wait_for_packet(socket, -1)) answer(socket, programs, *order);
}

}  // namespace cmcp::sandbox
