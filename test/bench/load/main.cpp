#include "jsonrpc/write_json.hpp"
#include "load/load_command_line.hpp"
#include "load/report.hpp"
#include "load/server_check.hpp"
#include "load/verdict.hpp"

#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include <sys/resource.h>

namespace {

using namespace cmcp;
using namespace cmcp::load;

std::size_t connections_of(const load_options& chosen)
{
    auto each = chosen.transport == transport::streamable || chosen.transport == transport::stateless ? 1u : 2u;
    return (chosen.sessions + chosen.slow) * each + chosen.idle + chosen.opening + 1;
}

// As many descriptors as there will be connections, as far as the system lets us.
void raise_descriptor_limit(std::size_t connections)
{
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t wanted = connections + 64;
    if (limit.rlim_cur >= wanted) return;
    rlimit more{wanted, std::max(limit.rlim_max, wanted)};
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < wanted)
        std::cerr << "only " << limit.rlim_cur << " descriptors are allowed, " << wanted
                  << " are wanted: raise the limit (ulimit -Hn), or take fewer sessions\n";
}

void write_reports(const load_options& chosen, const load_result& found, const std::vector<verdict>& verdicts)
{
    bool to_output = chosen.json == "-";
    if (!to_output) print_report(std::cout, chosen, found);
    if (!to_output) std::cout << '\n';
    print_verdicts(to_output ? std::cerr : std::cout, verdicts);
    if (chosen.json.empty()) return;
    auto text = jsonrpc::write_json(report_json(chosen, found, verdicts)) + '\n';
    if (to_output) {
        std::cout << text;
        return;
    }
    std::ofstream file(chosen.json);
    file << text;
    if (!file.flush()) throw std::runtime_error("The report cannot be written to " + chosen.json.string() + ".");
}

void put_load(const load_options& chosen, route& ways, load_result& found)
{
    asio::io_context io(1);
    load_run test(io, chosen, ways, found);
    asio::signal_set signals(io, SIGINT, SIGTERM);
    signals.async_wait([&test](boost::system::error_code error, int) {
        if (!error) test.interrupt();
    });
    test.start([&chosen](const load_run& running) {
        if (!chosen.quiet) print_tick(std::cerr, running);
    });
    io.run();
}

constexpr int cannot_begin_status = 1, mistake_status = 2, failed_status = 3;

int run(const load_options& chosen)
{
    std::signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit(connections_of(chosen));
    std::optional<route> ways;
    ways.emplace(chosen, connections_of(chosen));
    check_server(chosen, *ways);
    load_result found(chosen.calls.size());
    put_load(chosen, *ways, found);
    auto verdicts = judge(chosen, found);
    write_reports(chosen, found, verdicts);
    if (found.opened == 0) return cannot_begin_status;
    return any_failed(verdicts) ? failed_status : 0;
}

}  // namespace

int main(int argc, char** argv)
{
    int status = 0;
    try {
        auto chosen = parse_command_line(argc, argv, status);
        return chosen ? run(*chosen) : status;
    } catch (const cannot_begin& e) {
        std::cerr << e.what() << '\n';
        return cannot_begin_status;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return mistake_status;
    }
}
