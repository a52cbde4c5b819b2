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
namespace {

constexpr int patience_ms = 5000;
constexpr const char* program_name = "container-mcp-launcher";

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

std::string encode(const std::vector<startable_program>& programs)
{
    wire_writer out;
    out.number(static_cast<std::uint32_t>(programs.size()));
    for (const auto& each : programs) {
        out.text(each.path);
        out.texts(each.arguments);
    }
    return out.take();
}

std::vector<startable_program> decode(std::string_view bytes)
{
    wire_reader in(bytes);
    std::vector<startable_program> programs(in.number<std::uint32_t>());
    for (auto& each : programs) {
        each.path = in.text();
        in.texts(each.arguments);
    }
    return programs;
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

void answer(int socket, const std::vector<startable_program>& programs, packet& asked)
{
    wire_writer out;
    started_program made;
    std::int32_t error = EINVAL;
    try {
        const auto number = wire_reader(asked.bytes).number<std::uint32_t>();
        if (number < programs.size() && asked.descriptors.size() == 1) {
            const auto& program = programs[number];
            made = spawn_program(program.path, program.path.substr(program.path.rfind('/') + 1), program.arguments,
                                 asked.descriptors[0].get());
            error = 0;
        }
    } catch (const std::system_error& failure) {
        error = failure.code().value();
    }
    out.number(error);
    out.number<std::int32_t>(made.pid);
    const int fd = made.pidfd.get();
    send_packet(socket, out.take(), made.pidfd ? std::span<const int>(&fd, 1) : std::span<const int>());
}

std::uint32_t number_of(const std::string& path)
{
    const auto& programs = helper().programs;
    const auto found =
        std::find_if(programs.begin(), programs.end(), [&](const auto& each) { return each.path == path; });
    if (found == programs.end())
        throw std::system_error(EPERM, std::system_category(),
                                path + " is not among the programs that the server may have started");
    return static_cast<std::uint32_t>(found - programs.begin());
}

}  // namespace

void start_programs_through_helper(const std::string& launcher_path, const std::vector<startable_program>& programs)
{
    auto [ours, theirs] = packet_socket_pair();
    const auto made = spawn_program(launcher_path, program_name, {"--starter"}, theirs.get());
    send_packet(ours.get(), encode(programs));
    helper() = {std::move(ours), programs};  // its end is the helper's
}

started_program start_program(const std::string& path, const std::string& name,
                              const std::vector<std::string>& arguments, int socket)
{
    const int to = helper().socket.get();
    if (to < 0) return spawn_program(path, name, arguments, socket);
    wire_writer order;
    order.number(number_of(path));
    send_packet(to, order.take(), {&socket, 1});
    auto answered = wait_for_packet(to, patience_ms);
    if (!answered) throw std::system_error(EPIPE, std::system_category(), "the helper that starts programs is gone");
    wire_reader in(answered->bytes);
    const auto error = in.number<std::int32_t>();
    const auto pid = in.number<std::int32_t>();
    if (error != 0 || answered->descriptors.empty())
        throw std::system_error(error, std::system_category(), "cannot start " + path);
    return {pid, std::move(answered->descriptors.front())};
}

void serve_program_starter(int socket)
{
    ::signal(SIGCHLD, SIG_IGN);  // nobody waits for what is started here: it is gone when it ends
    const auto told = wait_for_packet(socket, -1);
    if (!told) return;
    const auto programs = decode(told->bytes);
    while (auto asked = wait_for_packet(socket, -1)) answer(socket, programs, *asked);
}

}  // namespace cmcp::sandbox
