#include "jsonrpc/write_json.hpp"
#include "load/comparison.hpp"
#include "load/load_command_line.hpp"
#include "load/report.hpp"
#include "load/report_for_ci.hpp"
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

std::size_t connections_of(const load_options& options)
{
    auto each = options.transport == transport::streamable || options.transport == transport::stateless ? 1u : 2u;
    return (options.sessions + options.slow) * each + options.idle + options.opening + options.servers.size();
}

// Raises the limit of descriptors to the number of connections, or as far as the system allows.
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

void write_file(const std::filesystem::path& to, const std::string& text)
{
    if (to.empty()) return;
    std::ofstream file(to);
    file << text;
    if (!file.flush()) throw std::runtime_error("The report cannot be written to " + to.string() + ".");
}

void print_comparisons(std::ostream& to, const std::vector<comparison>& compared)
{
    for (const auto& each : compared)
        to << (each.is == comparison::outcome::worse ? "✗ " : "✓ ") << words_of(each) << '\n';
}

void write_reports(const load_options& options, const load_result& result, const std::vector<verdict>& verdicts,
                   const json::object& report, const std::vector<comparison>& compared)
{
    bool to_output = options.json == "-";
    if (!to_output) print_report(std::cout, options, result);
    if (!to_output) std::cout << '\n';
    print_verdicts(to_output ? std::cerr : std::cout, verdicts);
    print_comparisons(to_output ? std::cerr : std::cout, compared);
    auto text = jsonrpc::write_json(report) + '\n';
    if (to_output)
        std::cout << text;
    else
        write_file(options.json, text);
    write_file(options.junit, report_junit(options, result, verdicts, compared));
    write_file(options.markdown, report_markdown(options, result, verdicts, compared));
}

void put_load(const load_options& options, server_list& servers, load_result& result)
{
    asio::io_context io(1);
    load_run test(io, options, servers, result);
    asio::signal_set signals(io, SIGINT, SIGTERM);
    signals.async_wait([&test](boost::system::error_code error, int) {
        if (!error) test.interrupt();
    });
    test.start([&options](const load_run& running) {
        if (!options.quiet) print_tick(std::cerr, running);
    });
    io.run();
}

constexpr int cannot_begin_status = 1, mistake_status = 2, failed_status = 3;

int run(const load_options& options)
{
    std::signal(SIGPIPE, SIG_IGN);
    std::vector<json::object> earlier;  // what cannot be read is told before the load
    for (const auto& file : options.compare) earlier.push_back(read_report(file));
    raise_descriptor_limit(connections_of(options));
    server_list servers(options, connections_of(options));
    for (const auto& problem : check_servers(options, servers))
        std::cerr << problem << " The test begins with the other addresses.\n";
    load_result result(options.calls.size(), servers.size());
    put_load(options, servers, result);
    auto verdicts = judge(options, result);
    auto report = report_json(options, result, verdicts);
    std::vector<comparison> compared;
    if (!earlier.empty()) compared = compare(report, earlier);
    if (!compared.empty()) report["compared"] = json::array();
    for (const auto& each : compared) report["compared"].as_array().push_back(json::string(words_of(each)));
    write_reports(options, result, verdicts, report, compared);
    if (result.opened == 0) return cannot_begin_status;
    return any_failed(verdicts) || any_worse(compared) ? failed_status : 0;
}

}  // namespace

int main(int argc, char** argv)
{
    int status = 0;
    try {
        auto options = parse_command_line(argc, argv, status);
        return options ? run(*options) : status;
    } catch (const cannot_begin& e) {
        std::cerr << e.what() << '\n';
        return cannot_begin_status;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return mistake_status;
    }
}
