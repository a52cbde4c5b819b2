#include "load/load_command_line.hpp"
#include "prebuilt/version.hpp"
#include "text/ascii.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>

namespace cmcp::load {

namespace {

constexpr const char* about =
    "Puts load on an MCP server and reports latencies, progress and errors.\n"
    "\n"
    "  container-mcp-load http://127.0.0.1:8000 --call ping --sessions 128\n"
    "  container-mcp-load http://127.0.0.1:8000 --transport sse --call 'system_env_var*3' \\\n"
    "      --call 'system_run_command:{\"command\":\"ls\"}' --rate 500 --duration 30\n"
    "  container-mcp-load http://127.0.0.1:8000 --transport sse --idle 20000 --sessions 16 --call ping --rate 200\n"
    "  container-mcp-load https://mcp.example.com/mcp --call tools/list --fail-if 'p99>50ms' --fail-if 'errors>0.1%'\n"
    "  container-mcp-load http://10.0.0.1:8000 http://10.0.0.2:8000 http://10.0.0.3:8000 --call ping --sessions 48\n"
    "  container-mcp-load --transport stdio --call ping --sessions 4 -- build/release/container-mcp stdio";

struct raw_options {
    std::string transport = "streamable", json;
    std::string token;
    bool insecure = false;
    std::string scenario;
    std::vector<std::string> words, calls, fail_if;
    double duration = 10, warm_up = 0, timeout = 30, drain = 5, health_every = 0.02;
};

const std::map<std::string, transport, std::less<>> transports{{"sse", transport::sse},
                                                               {"streamable", transport::streamable},
                                                               {"stateless", transport::stateless},
                                                               {"stdio", transport::stdio}};

std::chrono::milliseconds seconds(double s) { return std::chrono::milliseconds(static_cast<std::int64_t>(s * 1000)); }

std::string ready_names()
{
    std::string names;
    for (const auto& each : ready_scenarios()) names += (names.empty() ? "" : ", ") + each;
    return names;
}

void add_what(CLI::App& app, load_options& into, raw_options& raw)
{
    app.add_option(
        "url", raw.words,
        "http[s]://host:port, with the path of the endpoint where it is not /mcp or /sse. Sessions are spread "
        "over several addresses in turn, and each keeps its own, stateless ones too. When an address is "
        "gone, they use the next until it is back. stdio: after --, the server to start for each session");
    app.add_option("--transport,-t", raw.transport,
                   "sse (2024-11-05), streamable (2025-*, sessions), stateless (2026-07-28) or stdio")
        ->check(CLI::IsMember({"sse", "streamable", "stateless", "stdio"}));
    app.add_option("--revision", into.revision,
                   "the only protocol revision that will do (the newest that the server agrees to)");
    app.add_option("--call,-c", raw.calls, "NAME[:ARGUMENTS][*WEIGHT], a tool or a method (ping; may be repeated)")
        ->allow_extra_args(false);
    app.add_option("--scenario", raw.scenario,
                   "what each session does over and over, in place of --call: a file, or " + ready_names());
    app.add_flag("--progress", into.progress, "send a progress token with tool calls");
    app.add_option("--header,-H", into.headers, "'Name: value' on every request")->allow_extra_args(false);
    app.add_option("--token", raw.token, "bearer token; in the environment as CONTAINER_MCP_TOKEN it stays out of ps");
    app.add_flag("--insecure", raw.insecure, "https: accept any certificate");
}

void add_how_much(CLI::App& app, load_options& into, raw_options& raw)
{
    app.add_option("--sessions,-s", into.sessions, "sessions that call (16)");
    app.add_option("--rate,-r", into.rate,
                   "open loop: calls a second by all sessions; latency counts from the time when a call was due");
    app.add_flag("--poisson", into.poisson, "open loop: random arrivals");
    app.add_option("--duration,-d", raw.duration, "seconds of load (10)")->check(CLI::PositiveNumber);
    app.add_option("--count,-n", into.count, "end after so many calls");
    app.add_option("--warm-up", raw.warm_up, "seconds of load before measuring starts (0)");
    app.add_option("--timeout", raw.timeout, "seconds for an answer (30)")->check(CLI::PositiveNumber);
    app.add_option("--drain", raw.drain, "seconds to wait for the last answers (5)");
    app.add_option("--idle", into.idle, "further sessions that only hold their stream open");
    app.add_option("--slow", into.slow, "further sessions that call but read slowly");
    app.add_option("--slow-rate", into.slow_rate, "bytes a second that each of them reads (1024)")
        ->check(CLI::PositiveNumber);
    app.add_option("--opening", into.opening, "sessions that may be connecting at a time (128)")
        ->check(CLI::PositiveNumber);
    app.add_option("--sources", into.sources, "connect from so many addresses 127.0.0.x (as many as the ports need)")
        ->check(CLI::Range(0, 250));
}

void add_output(CLI::App& app, load_options& into, raw_options& raw)
{
    app.add_option(
           "--fail-if", raw.fail_if,
           "exit with 3 when this holds at the end: 'p99>50ms', 'errors>0.1%', 'rps<1000', 'first_progress.p99>100ms'; "
           "p50 to p999, max, mean (may be repeated; 'errors>1%' where none is given)")
        ->allow_extra_args(false);
    app.add_flag("--allow-nonzero", into.allow_nonzero, "a run with another exit code than 0 counts as succeeded");
    app.add_option("--health", into.health, "path, such as /healthz, that is asked beside the load");
    app.add_option("--health-every", raw.health_every, "seconds between two of these (0.02)")
        ->check(CLI::PositiveNumber);
    app.add_option("--pid", into.pid, "process id of the server: report its CPU time and memory");
    app.add_option("--junit", into.junit, "write the outcome as JUnit's XML to this file, for CI");
    app.add_option("--markdown", into.markdown,
                   "write the report as Markdown to this file, such as $GITHUB_STEP_SUMMARY");
    app.add_option(
           "--compare", into.compare,
           "an earlier report (--json) of the same test: exit with 3 when this one is slower beyond the noise (may "
           "be repeated)")
        ->allow_extra_args(false);
    app.add_option("--json", raw.json, "write the report as JSON to this file; - for standard output");
    app.add_flag("--quiet,-q", into.quiet, "no live progress on standard error");
}

server_address complete_address(const std::string& url, transport over)
{
    auto address = parse_address(url);
    auto& path = address.path;
    auto query = path.find_first_of('?');
    if (path.substr(0, query).size() <= 1)
        path.replace(0, std::min(query, path.size()), over == transport::sse ? "/sse" : "/mcp");
    return address;
}

void complete_servers(load_options& options, const raw_options& raw)
{
    if (options.transport == transport::stdio && raw.words.empty())
        throw std::invalid_argument("stdio needs the server's command after --");
    if (options.transport == transport::stdio) {
        options.command = raw.words;
        return;
    }
    options.servers.clear();
    for (const auto& url : raw.words) options.servers.push_back(complete_address(url, options.transport));
    if (raw.words.empty()) options.servers.push_back(complete_address("http://127.0.0.1:8000", options.transport));
}

void complete_token(load_options& options, const raw_options& raw)
{
    const auto* variable = std::getenv("CONTAINER_MCP_TOKEN");
    auto token = !raw.token.empty() || variable == nullptr ? raw.token : std::string(variable);
    auto names_one = [](const std::string& field) { return lower_case(field).starts_with("authorization:"); };
    bool has_one = std::any_of(options.headers.begin(), options.headers.end(), names_one);
    if (!raw.token.empty() && has_one)
        throw std::invalid_argument("--token and --header Authorization exclude each other");
    if (!token.empty() && !has_one) options.headers.push_back("Authorization: Bearer " + token);
}

void check_headers(const load_options& options)
{
    for (const auto& each : options.headers)
        if (each.find(':') == std::string::npos || each.find_first_of("\r\n") != std::string::npos)
            throw std::invalid_argument("a header must be 'Name: value' on one line");
}

void check_revision(const load_options& options)
{
    bool stateless = options.transport == transport::stateless;
    if (options.revision.empty() || stateless == (options.revision == "2026-07-28")) return;
    throw std::invalid_argument("--revision " + options.revision +
                                ": the transport stateless speaks 2026-07-28, the others all before it");
}

bool judged_by(const load_options& options, threshold::figure figure)
{
    return std::any_of(options.thresholds.begin(), options.thresholds.end(),
                       [figure](const threshold& each) { return each.of == figure; });
}

void check_call(const load_options& options, const threshold& limit)
{
    const bool is_known = limit.call.empty() || (limit.call == "iteration" && options.scenario) ||
                          std::ranges::find(options.calls, limit.call, &operation::name) != options.calls.end();
    if (is_known) return;
    std::string names;
    for (const auto& each : options.calls) names += " " + each.name;
    throw std::invalid_argument("--fail-if '" + limit.expression + "': there is no call " + limit.call +
                                ", but:" + names);
}

void complete_scenario(load_options& options, const raw_options& raw, bool has_duration)
{
    if (!raw.calls.empty()) throw std::invalid_argument("--scenario and --call exclude each other");
    if (options.slow != 0) throw std::invalid_argument("--scenario and --slow exclude each other");
    options.scenario = find_scenario(raw.scenario);
    if (options.has_stages() && (options.rate > 0 || has_duration))
        throw std::invalid_argument("the scenario has stages, so --rate and --duration have no meaning");
    for (const auto& each : options.scenario->steps) options.calls.push_back(each.what);
    options.progress = options.progress || options.scenario->progress;
}

void complete_thresholds(load_options& options, const raw_options& raw)
{
    auto limits = raw.fail_if;
    if (limits.empty() && options.scenario) limits = options.scenario->fail_if;
    for (const auto& each : limits) options.thresholds.push_back(parse_threshold(each));
    bool output = judged_by(options, threshold::figure::first_progress) || judged_by(options, threshold::figure::gap);
    if (output && !options.progress)
        throw std::invalid_argument("--fail-if with first_progress or gap needs --progress");
    for (const auto& each : options.thresholds) check_call(options, each);
    if (judged_by(options, threshold::figure::health) && options.health.empty())
        throw std::invalid_argument("--fail-if with health needs --health, as in --health /healthz");
}

void complete(load_options& options, raw_options& raw, bool has_duration)
{
    options.transport = transports.find(raw.transport)->second;
    complete_servers(options, raw);
    if (!raw.scenario.empty())
        complete_scenario(options, raw, has_duration);
    else if (raw.calls.empty())
        raw.calls.push_back(options.transport == transport::stateless ? "tools/list" : "ping");
    for (const auto& each : raw.calls) options.calls.push_back(parse_operation(each));
    options.verify = !raw.insecure;
    complete_token(options, raw);
    check_headers(options);
    check_revision(options);
    complete_thresholds(options, raw);
    options.duration = options.has_stages() ? options.scenario->duration() : seconds(raw.duration);
    options.warm_up = seconds(raw.warm_up);
    options.timeout = seconds(raw.timeout);
    options.drain = seconds(raw.drain);
    options.health_every = std::max(seconds(raw.health_every), std::chrono::milliseconds(1));
    options.json = raw.json;
}

}  // namespace

std::optional<load_options> parse_command_line(int argc, char** argv, int& status)
{
    CLI::App app(about, "container-mcp-load");
    load_options options;
    raw_options raw;
    add_what(app, options, raw);
    add_how_much(app, options, raw);
    add_output(app, options, raw);
    app.set_version_flag("--version", CMCP_VERSION);
    try {
        app.parse(argc, argv);
        complete(options, raw, app.count("--duration") != 0);
        return options;
    } catch (const CLI::ParseError& e) {
        status = app.exit(e) == 0 ? 0 : 2;
    } catch (const std::invalid_argument& e) {
        std::cerr << e.what() << '\n';
        status = 2;
    }
    return std::nullopt;
}

}  // namespace cmcp::load
