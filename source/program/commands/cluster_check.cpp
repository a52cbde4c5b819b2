#include "cluster/etcd_names.hpp"
#include "cluster/member_trust.hpp"
#include "commands/commands.hpp"
#include "commands/text_table.hpp"
#include "config/cluster_member.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "egress/reach.hpp"
#include "egress/tls_trust.hpp"
#include "etcd/etcd_client.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "objects/object_store.hpp"
#include "server/run_loop.hpp"
#include "streams/http_connection.hpp"
#include "text/encodings.hpp"
#include "text/words.hpp"
#include "tls/certificate_ends.hpp"
#include "tls/openssl_handles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include <time.h>

namespace cmcp::command {

namespace {

namespace http = boost::beast::http;
using std::chrono::steady_clock;
using trust_ptr = std::shared_ptr<boost::asio::ssl::context>;

constexpr std::chrono::seconds time_to_answer(3);
constexpr int writes = 21;
constexpr double slow_write_ms = 25;
constexpr std::time_t day = 24 * 3600, most_skew = 3;  // dates of HTTP are in whole seconds
constexpr std::uint64_t usual_quota = 2'147'483'648;   // of etcd's storage
constexpr std::int64_t many_revisions = 500'000;

enum class state { ok, warn, fail };

struct check_row {
    std::string subject;
    state is = state::ok;
    std::string seen;
    std::string advice{};  // where it is not ok
};

const char* to_string(state of) { return of == state::ok ? "ok" : of == state::warn ? "warn" : "fail"; }

std::string number_text(double number)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(number < 10 ? 1 : 0) << number;
    return text.str();
}

double ms_since(steady_clock::time_point begin)
{
    return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

/// One answer of another server, and what its connection shows.
struct shown_page {
    std::string body;
    std::time_t ends = 0;  // of its certificate; 0: it shows none
    double ahead = 0;      // its clock, in seconds
};

std::time_t time_in(std::string_view date)
{
    std::tm parts{};
    return ::strptime(std::string(date).c_str(), "%a, %d %b %Y %H:%M:%S", &parts) == nullptr ? 0 : ::timegm(&parts);
}

// `name`: that of its certificate. Throws unreachable_server.
awaitable<shown_page> page_of(std::string host, std::uint16_t port, trust_ptr trust, std::string name, std::string path)
{
    auto socket = co_await reach(host, port, time_to_answer);
    http_connection connection(std::move(socket));
    auto& stream = connection.stream();
    stream.expires_after(time_to_answer);
    shown_page page;
    if (trust) {
        const auto failure = co_await secure(stream, *trust, name, address_in(name).has_value());
        if (failure) throw unreachable_server("no secure connection: " + handshake_problem(stream.tls(), failure));
        const x509_handle peer(::SSL_get1_peer_certificate(stream.tls()));
        if (peer) page.ends = end_of(*peer);
    }
    http_connection::request request(http::verb::get, path, 11);
    request.set(http::field::host, "localhost");
    request.set(http::field::connection, "close");
    http_connection::whole_parser answer;
    answer.body_limit(8u << 20);
    const auto failure = co_await connection.ask(request, answer);
    if (failure) throw unreachable_server(connection_problem(failure));
    const auto date = time_in(std::string_view(answer.get()[http::field::date]));
    if (date != 0) page.ahead = static_cast<double>(date - std::time(nullptr));
    page.body = std::move(answer.get().body());
    co_return page;
}

/// What was checked, a row each.
class report {
public:
    void add(check_row row) { rows_.push_back(std::move(row)); }

    void add_certificate(std::string subject, std::time_t ends)
    {
        const auto left = (ends - std::time(nullptr)) / day;
        const bool has_ended = ends < std::time(nullptr);
        const auto is = has_ended ? state::fail : left < certificate_ends::days_of_warning ? state::warn : state::ok;
        add({std::move(subject), is, has_ended ? "has ended" : "ends in " + std::to_string(left) + " days",
             "put a new one into its file (container/cluster/certificates makes them)"});
    }

    void add_clock(std::string subject, double ahead)
    {
        const bool is_same = std::abs(ahead) <= most_skew;
        add({std::move(subject), is_same ? state::ok : state::warn,
             is_same ? "as this one, to a few seconds" : "differs by " + number_text(std::abs(ahead)) + " s",
             "let all machines take their time from NTP"});
    }

    bool has_failed() const
    {
        return std::ranges::any_of(rows_, [](const check_row& each) { return each.is == state::fail; });
    }

    void print() const
    {
        std::size_t width = 0;
        for (const auto& each : rows_) width = std::max(width, each.subject.size());
        for (const auto& each : rows_) {
            std::cout << std::left << std::setw(6) << to_string(each.is) << std::setw(static_cast<int>(width))
                      << each.subject << "  " << each.seen;
            if (each.is != state::ok && !each.advice.empty()) std::cout << ": " << each.advice;
            std::cout << '\n';
        }
    }

    json::object described() const
    {
        json::array rows;
        for (const auto& each : rows_) {
            json::object row{{"subject", each.subject}, {"state", to_string(each.is)}, {"seen", each.seen}};
            if (each.is != state::ok) row["advice"] = each.advice;
            rows.push_back(std::move(row));
        }
        return {{"ok", !has_failed()}, {"checks", std::move(rows)}};
    }

private:
    std::vector<check_row> rows_;
};

// ---------------------------------------------------------------- etcd
/// What the members of etcd say of themselves.
struct etcd_members {
    std::size_t all = 0, answer = 0;
    std::set<std::string> versions, leaders;
    std::set<std::string> alarms;
    std::uint64_t size = 0, quota = 0;  // the largest, and its quota
    std::int64_t revision = 0;
};

// From the figures of a member: no question of its interface has the quota before 3.6.
std::uint64_t quota_in(const std::string& figures)
{
    constexpr std::string_view name = "\netcd_server_quota_backend_bytes ";
    const auto at = figures.find(name);
    return at == std::string::npos
               ? 0
               : static_cast<std::uint64_t>(std::strtod(figures.c_str() + at + name.size(), nullptr));
}

void note_alarms(etcd_members& into, const json::object& said)
{
    const auto* alarms = said.if_contains("alarms");
    if (alarms == nullptr || !alarms->is_array()) return;
    for (const auto& each : alarms->get_array())
        if (each.is_object()) into.alarms.insert(text_of(each.get_object(), "alarm"));
}

awaitable<> ask_etcd(settings config, etcd_endpoint to, trust_ptr trust, report& into, etcd_members& seen)
{
    const auto name = config.cluster_etcd.front();
    const auto executor = co_await asio::this_coro::executor;
    etcd_client client(executor, config, [trust] { return trust; });
    const auto begin = steady_clock::now();
    json::object nothing;
    const auto status = co_await client.ask("maintenance/status", std::move(nothing));
    const auto took = ms_since(begin);
    json::object question{{"action", "GET"}};
    const auto alarms = co_await client.ask("maintenance/alarm", std::move(question));
    if (!to.secure) trust.reset();
    auto page = co_await page_of(to.host, to.port, trust, to.host, "/metrics");
    ++seen.answer;
    note_alarms(seen, alarms);
    const auto version = text_of(status, "version");
    const auto leader = text_of(status, "leader");
    const bool leads = leader == text_of(object_of(status, "header"), "member_id");
    seen.versions.insert(version);
    if (!leader.empty()) seen.leaders.insert(leader);
    seen.revision = std::max(seen.revision, etcd_number(object_of(status, "header"), "revision"));
    const auto size = static_cast<std::uint64_t>(etcd_number(status, "dbSize"));
    if (size >= seen.size) seen.quota = quota_in(page.body);
    seen.size = std::max(seen.size, size);
    into.add({"etcd " + name, leader.empty() || leader == "0" ? state::fail : state::ok,
              version + ", " + (leads ? "leads" : "follows") + ", " + bytes_text(static_cast<double>(size)) +
                  ", answers in " + number_text(took) + " ms",
              "it knows no leader: start the others, or bring their network back"});
    if (page.ends != 0) into.add_certificate("certificate of etcd " + name, page.ends);
    into.add_clock("clock of etcd " + name, page.ahead);
}

awaitable<> check_endpoint(const settings& config, std::string url, trust_ptr trust, report& into, etcd_members& seen)
{
    auto of_one = config;
    of_one.cluster_etcd = {url};
    const auto to = etcd_endpoint::read(url).value_or(etcd_endpoint());
    check_row problem{"etcd " + url, state::fail, {}, "start it there, and let the firewall pass its port"};
    try {
        co_await ask_etcd(std::move(of_one), to, std::move(trust), into, seen);
    } catch (const etcd_away& failure) {
        problem.seen = failure.what();
    } catch (const unreachable_server& failure) {
        problem.seen = failure.what();
    } catch (const etcd_refusal& refused) {
        problem.seen = refused.what();
        problem.advice =
            "set CLUSTER_ETCD_USER and CLUSTER_ETCD_PASSWORD to a user that may read and write below "
            "CLUSTER_PREFIX, or turn authentication off";
    }
    if (!problem.seen.empty()) into.add(std::move(problem));
}

void judge(const etcd_members& seen, const settings& config, report& into)
{
    const bool is_whole = seen.answer == seen.all, has_most = 2 * seen.answer > seen.all;
    into.add({"members of etcd",
              !has_most || seen.leaders.size() > 1 ? state::fail
              : !is_whole || seen.all % 2 == 0     ? state::warn
                                                   : state::ok,
              std::to_string(seen.answer) + " of " + std::to_string(seen.all) + " answer" +
                  (seen.leaders.size() > 1 ? ", of different clusters" : ""),
              seen.leaders.size() > 1 ? "CLUSTER_ETCD must name the members of one etcd"
              : !is_whole             ? "without most of them all servers stand still"
                                      : "take an odd number: an even one bears no more losses than one less"});
    const auto versions = joined({seen.versions.begin(), seen.versions.end()}, ", ");
    into.add({"version of etcd", seen.versions.size() > 1 ? state::warn : state::ok, versions,
              "end the upgrade: all members of one version"});
    const auto quota = seen.quota != 0 ? seen.quota : usual_quota;
    const double part = static_cast<double>(seen.size) / static_cast<double>(quota);
    into.add({"space of etcd",
              !seen.alarms.empty() ? state::fail
              : part > 0.7         ? state::warn
                                   : state::ok,
              bytes_text(static_cast<double>(seen.size)) + " of " + bytes_text(static_cast<double>(quota)) +
                  (seen.alarms.empty() ? "" : ", alarm " + joined({seen.alarms.begin(), seen.alarms.end()}, ", ")),
              "set --auto-compaction-retention=1h, `etcdctl defrag` each member, then `etcdctl alarm disarm`"});
    into.add({"login at etcd", config.cluster_etcd.front().starts_with("http://") ? state::warn : state::ok,
              config.cluster_etcd_user.empty() ? "by certificate" : "as " + config.cluster_etcd_user,
              "http:// is for etcd on the same machine"});
}

// Its first revision is readable for as long as nothing was compacted.
awaitable<> check_compaction(etcd_client& etcd, std::string key, std::int64_t revision, report& into)
{
    check_row row{"compaction of etcd", state::ok, "revision " + std::to_string(revision),
                  "start etcd with --auto-compaction-retention=1h"};
    try {
        json::object question{{"key", base64_encode(key)}, {"revision", "1"}};
        co_await etcd.ask("kv/range", std::move(question));
        if (revision > many_revisions) row.is = state::warn;
        if (revision > many_revisions) row.seen += ", and the first one is still there";
    } catch (const etcd_refusal&) {
        row.seen += ", older ones are gone";
    }
    into.add(std::move(row));
}

awaitable<> check_writes(etcd_client& etcd, const settings& config, report& into)
{
    const auto wanted = std::chrono::duration_cast<std::chrono::seconds>(config.cluster_lease).count();
    json::object order{{"TTL", std::to_string(wanted)}};
    const auto granted = co_await etcd.ask("lease/grant", std::move(order));
    const auto lease = etcd_number(granted, "ID"), lasts = etcd_number(granted, "TTL");
    into.add({"leases", lasts == wanted ? state::ok : state::warn, std::to_string(lasts) + " s",
              "etcd gives no leases of CLUSTER_LEASE=" + std::to_string(wanted) +
                  " seconds: shorten its "
                  "--election-timeout, or set CLUSTER_LEASE to what it gives"});
    std::vector<double> times;
    for (int i = 0; i != writes; ++i) {
        const auto begin = steady_clock::now();
        auto write = etcd.put(config.cluster_prefix + "check/" + config.sandbox_node, std::to_string(i), lease);
        co_await std::move(write);
        times.push_back(ms_since(begin));
    }
    co_await etcd.revoke(lease);
    std::ranges::sort(times);
    const auto median = times[times.size() / 2];
    into.add({"writes to etcd", median < slow_write_ms ? state::ok : state::warn,
              "median " + number_text(median) + " ms, the slowest of " + std::to_string(writes) + " " +
                  number_text(times.back()) + " ms",
              "give etcd disks that write through in 10 ms, and a short network"});
}

// ---------------------------------------------------------------- servers
std::string about_member(const json::object& about)
{
    auto text =
        text_of(about, "host") + ":" + std::to_string(count_of(about, "port")) + ", " + text_of(about, "version");
    const auto since = number_of(about, "since");
    if (since != 0) text += ", up " + duration_text(static_cast<double>(std::time(nullptr) - since));
    for (const auto& label : object_of(about, "labels"))
        if (label.value().is_string())
            text += ", " + std::string(label.key()) + "=" + std::string(label.value().get_string());
    if (flag_of(about, "drains")) text += ", drains";
    return text;
}

awaitable<> check_member(std::string name, json::object about, trust_ptr trust, report& into)
{
    check_row row{"server " + name, state::ok, about_member(about),
                  "servers reach each other at this address (CLUSTER_ADVERTISE) with certificates of CLUSTER_CA alone"};
    std::string problem;
    shown_page page;
    try {
        const auto port = static_cast<std::uint16_t>(count_of(about, "port"));
        page = co_await page_of(text_of(about, "host"), port, trust, name, "/livez");
    } catch (const unreachable_server& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) row.is = state::fail;
    if (!problem.empty()) row.seen += ", not reached (" + problem + ")";
    into.add(std::move(row));
    if (page.ends != 0) into.add_certificate("certificate of server " + name, page.ends);
    if (problem.empty()) into.add_clock("clock of server " + name, page.ahead);
}

awaitable<> check_members(etcd_client& etcd, const settings& config, trust_ptr trust, report& into)
{
    const auto prefix = etcd_names(config).members();
    const auto all = co_await etcd.all_below(prefix);
    std::set<std::string> versions;
    bool has_own = false;
    for (const auto& each : all) {
        const auto name = each.key.substr(prefix.size());
        auto about = jsonrpc::read_object(each.value);
        has_own = has_own || name == config.sandbox_node;
        versions.insert(text_of(about, "version"));
        co_await check_member(name, std::move(about), trust, into);
    }
    into.add({"servers", all.empty() || !has_own || versions.size() > 1 ? state::warn : state::ok,
              std::to_string(all.size()) + " registered",
              all.empty() ? "none runs with CLUSTER_PREFIX=" + config.cluster_prefix
              : !has_own  ? "this one, SANDBOX_NODE=" + config.sandbox_node + ", is not: it does not run"
                          : "of different versions: bring all to one"});
}

// ---------------------------------------------------------------- storage
awaitable<> try_storage(object_store& storage, std::string key)
{
    co_await storage.put(key, "probe");
    const auto back = co_await storage.get(key);
    const auto listed = co_await storage.list(key);
    co_await storage.remove(key);
    if (back.value_or("") != "probe") throw std::runtime_error("It does not give back what was put there.");
    if (listed.empty()) throw std::runtime_error("Its list does not show what was put there.");
}

awaitable<> check_storage(const settings& config, report& into)
{
    check_row row{"storage of snapshots", state::warn, "none",
                  "without SNAPSHOT_STORE a sandbox is lost with its server"};
    if (config.snapshot_store.empty()) co_return into.add(std::move(row));
    row.advice.clear();
    const auto executor = co_await asio::this_coro::executor;
    const auto begin = steady_clock::now();
    try {
        auto options = object_store_options::of(config);
        options.patience = std::chrono::milliseconds(0);
        options.request_timeout = 2 * time_to_answer;
        object_store storage(executor, std::move(options));
        co_await try_storage(storage, "check/" + config.sandbox_node);
        row.is = state::ok;
        row.seen = storage.text() + " puts, gets, lists and removes in " + number_text(ms_since(begin)) + " ms";
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& failure) {
        row.is = state::fail;
        row.seen = failure.what();
    }
    into.add(std::move(row));
}

void check_own_certificates(const settings& config, report& into)
{
    const auto look = [&into](const char* setting, const std::filesystem::path& file) {
        if (const auto ends = end_of_certificates(file)) into.add_certificate(setting, *ends);
    };
    look("CLUSTER_CERT", config.cluster_cert);
    look("CLUSTER_CA", config.cluster_ca);
    look("TLS_CERT", config.tls_cert);
}

awaitable<> check_all(const settings& config, report& into)
{
    auto trust = member_trust(config).context();
    check_own_certificates(config, into);
    etcd_members seen;
    seen.all = config.cluster_etcd.size();
    for (const auto& each : config.cluster_etcd) co_await check_endpoint(config, each, trust, into, seen);
    judge(seen, config, into);
    const auto executor = co_await asio::this_coro::executor;
    etcd_client etcd(executor, config, [trust] { return trust; });
    check_row problem{"work with etcd", state::fail, {}, "see the rows of etcd"};
    try {
        co_await check_writes(etcd, config, into);
        co_await check_compaction(etcd, config.cluster_prefix, seen.revision, into);
        co_await check_members(etcd, config, trust, into);
    } catch (const etcd_away& failure) {
        problem.seen = failure.what();
    } catch (const etcd_refusal& refused) {
        problem.seen = refused.what();
    }
    if (!problem.seen.empty()) into.add(std::move(problem));
    co_await check_storage(config, into);
}

}  // namespace

int check_cluster(const settings& config, bool json)
{
    if (config.cluster_etcd.empty())
        throw config_error("This server is alone: CLUSTER_ETCD is not set, so there is no cluster to check.");
    log::set_threshold(log::level::error);  // the report has the rest
    ignore_signals();
    report checks;
    asio::io_context io(1);
    run_loop(io, check_all(config, checks));
    if (json)
        std::cout << jsonrpc::write_json(checks.described()) << '\n';
    else
        checks.print();
    return checks.has_failed() ? 1 : 0;
}

}  // namespace cmcp::command
