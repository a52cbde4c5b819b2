#include "commands/commands.hpp"

#include "async/asio.hpp"
#include "async/task_group.hpp"
#include "egress/egress_guard.hpp"
#include "egress/network_doors.hpp"
#include "local/network_helper.hpp"
#include "log/log.hpp"
#include "wire/packet_socket.hpp"
#include "wire/run_request.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace cmcp::command {

namespace {

namespace fs = std::filesystem;

constexpr const char* program_of_runs = "container-mcp-run";
constexpr int link_number = 3;

struct network_of_run {
    std::vector<egress_entry> hosts;   // those that are refused, too
    std::vector<egress_entry> opened;  // also where they are not public: the user names single machines
    std::set<std::uint16_t> ports{80, 443};

    // No operator narrows what the user allows.
    std::vector<egress_entry> ceiling() const
    {
        std::vector<egress_entry> all{egress_entry{}};
        for (const auto port : ports) {
            egress_entry each;
            each.port = port;
            all.push_back(each);
        }
        return all;
    }
};

bool is_of_sandbox(const egress_entry& entry)
{
    return entry.name == "localhost" || (entry.is == egress_entry::kind::range && entry.network.is_loopback());
}

network_of_run read_network(const sandbox::network_order& order)
{
    network_of_run network;
    for (const auto& text : order.denied) network.hosts.push_back(egress_entry::parse("!" + text));
    for (const auto& text : order.allowed) {
        const auto entry = egress_entry::parse(text);
        if (entry.refuses) throw std::invalid_argument("\"" + text + "\" refuses a host; that is for deniedDomains");
        if (is_of_sandbox(entry))
            throw std::invalid_argument("\"" + text + "\" is the sandbox's own; name this machine by its host name");
        network.hosts.push_back(entry);
        if (entry.is == egress_entry::kind::exact || entry.is == egress_entry::kind::range)
            network.opened.push_back(entry);
        if (entry.port != 0) network.ports.insert(entry.port);
    }
    if (network.ports.contains(sandbox::first_proxy_port))
        throw std::invalid_argument("port " + std::to_string(sandbox::first_proxy_port) +
                                    " is that of the sandbox's own proxy");
    if (network.ports.size() > sandbox::most_doors)
        throw std::invalid_argument("the hosts have more than " + std::to_string(sandbox::most_doors) +
                                    " ports, 80 and 443 among them");
    return network;
}

// What failed for another reason than the policy would fail without a sandbox, too.
bool is_refused_by_policy(const egress_refusal& refusal)
{
    constexpr std::array<std::string_view, 6> failures{"unresolved", "unreachable", "timeout",
                                                       "busy",       "bytes",       "bad response"};
    return std::ranges::find(failures, refusal.rule) == failures.end();
}

void tell_refusals(int link, egress_ticket& ticket)
{
    for (auto& refusal : ticket.take_refusals())
        if (is_refused_by_policy(refusal))
            sandbox::send_packet_waiting(
                link, sandbox::encoded(
                          sandbox::denial{sandbox::denial::kind::connect, std::move(refusal.host), refusal.port}));
}

// The doors arrive once; the end of the run is the end of what arrives.
awaitable<> serve_run(egress_guard& guard, task_group& doors, std::shared_ptr<egress_ticket> ticket)
{
    auto executor = co_await asio::this_coro::executor;
    asio::posix::stream_descriptor link(executor, link_number);
    auto names = std::make_shared<name_addresses>();
    for (;;) {
        co_await link.async_wait(asio::posix::descriptor_base::wait_read, asio::use_awaitable);
        auto message = sandbox::receive_packet(link.native_handle());
        if (!message) continue;
        if (message->bytes.empty()) break;
        serve_network_doors(guard, doors, std::move(message->descriptors), names, [ticket] { return ticket; });
    }
    tell_refusals(link.native_handle(), *ticket);
    doors.cancel_all();
}

egress_limits limits_of_run()
{
    egress_limits limits;
    limits.bytes = std::numeric_limits<std::uint64_t>::max();
    limits.connections = 256;
    limits.idle = std::chrono::hours(12);
    return limits;
}

void serve_network(const network_of_run& network)
{
    asio::io_context io;
    auto policy = egress_policy::of_sandbox(network.hosts, network.ceiling(), network.opened);
    egress_guard guard(io.get_executor(), std::make_shared<const egress_policy>());
    auto ticket = guard.issue("run", std::make_shared<const egress_policy>(std::move(policy)), limits_of_run());
    ticket->hold_to_names();
    task_group doors(io.get_executor());
    asio::co_spawn(io, serve_run(guard, doors, ticket), [&](const std::exception_ptr& failure) {
        ticket.reset();
        guard.stop();
        io.stop();
        if (failure) std::rethrow_exception(failure);
    });
    io.run();
}

}  // namespace

int run_locally(char** argv)
{
    const fs::path path = fs::read_symlink("/proc/self/exe").parent_path() / program_of_runs;
    ::execv(path.c_str(), argv);
    if (errno != ENOENT) throw std::system_error(errno, std::generic_category(), path.string());
    throw std::runtime_error(path.string() + " does not exist: build or install it");
}

int serve_network_of_run()
{
    log::set_threshold(log::level::error);
    const auto order = sandbox::await_packet(link_number);
    std::vector<std::uint16_t> ports;
    std::string refusal;
    network_of_run network;
    try {
        network = read_network(sandbox::decoded<sandbox::network_order>(order.bytes));
        ports.assign(network.ports.begin(), network.ports.end());
    } catch (const std::invalid_argument& wrong) {
        refusal = "A host of the policy cannot be used: " + std::string(wrong.what()) + ".";
    }
    sandbox::send_packet_waiting(link_number, sandbox::encoded(ports, refusal));
    if (refusal.empty()) serve_network(network);
    return refusal.empty() ? 0 : 2;
}

}  // namespace cmcp::command
