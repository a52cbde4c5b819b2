#include "etcd/etcd_client.hpp"

#include "async/pause.hpp"
#include "async/raised_flag.hpp"
#include "async/sized_work.hpp"
#include "async/with_deadline.hpp"
#include "config/cluster_settings.hpp"
#include "egress/reach.hpp"
#include "egress/tls_trust.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "text/encodings.hpp"
#include "text/random_id.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cmcp {

namespace http = boost::beast::http;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds time_to_connect(1), longest_idle(60);
constexpr std::size_t most_idle = 8, most_bytes = 256u << 20, piece_bytes = 16 * 1024;
constexpr std::size_t longest_event = 8u << 20;
constexpr std::chrono::seconds time_to_begin(5), time_to_log_in(5);
constexpr milliseconds first_pause(100), longest_pause(2000);
constexpr std::int64_t not_authenticated = 16;
constexpr std::string_view no_such_token = "invalid auth token";

std::string name_of(const etcd_endpoint& to) { return to.host + ":" + std::to_string(to.port); }

void count(std::string_view outcome)
{
    static auto& questions =
        metrics::all().counters("cmcp_etcd_requests_total", "What was asked of etcd, by outcome.", {"outcome"});
    questions.at({outcome}).add();
}

[[noreturn]] void throw_away(const etcd_endpoint& from, const std::string& why)
{
    throw etcd_away("etcd at " + name_of(from) + " does not answer (" + why + ").");
}

// A cancelled coroutine ends.
void check(const error_code& failure, const etcd_endpoint& from)
{
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    if (failure) throw_away(from, connection_problem(failure));
}

[[noreturn]] void throw_refusal(const json::object& said, unsigned status)
{
    auto message = text_of(said, "message");
    if (message.empty()) message = text_of(said, "error");
    if (message.empty()) message = "HTTP " + std::to_string(status);
    throw etcd_refusal("etcd refuses: " + message + ".", number_of(said, "code", 2));
}

/// The lines of a stream of answers.
class line_reader {
public:
    void put(std::string_view bytes) { held_.append(bytes); }
    bool too_long() const { return held_.size() > longest_event; }
    std::optional<std::string> next()
    {
        const auto end = held_.find('\n', seen_);
        if (end == std::string::npos) seen_ = held_.size();
        if (end == std::string::npos) return std::nullopt;
        std::string line = held_.substr(0, end);
        held_.erase(0, end + 1);
        seen_ = 0;
        return line;
    }

private:
    std::string held_;
    std::size_t seen_ = 0;  // without a line end
};

/// That a watch reads from a stream. A frame of a coroutine may outlive the client.
struct watch_mark {
    watch_mark(std::shared_ptr<std::set<byte_stream*>> in, byte_stream& of) : all(std::move(in)), one(&of)
    {
        all->insert(one);
    }
    ~watch_mark() { all->erase(one); }
    watch_mark(const watch_mark&) = delete;
    watch_mark& operator=(const watch_mark&) = delete;

    std::shared_ptr<std::set<byte_stream*>> all;
    byte_stream* one;
};

/// A watch lost its place: what it tells begins anew.
struct watch_ended {};

std::vector<std::pair<etcd_entry, bool>> events_in(const json::object& message)
{
    std::vector<std::pair<etcd_entry, bool>> all;
    const auto& result = object_of(message, "result");
    if (message.contains("error") || flag_of(result, "canceled")) throw watch_ended();
    const auto* events = result.if_contains("events");
    if (events == nullptr || !events->is_array()) return all;
    for (const auto& each : events->get_array()) {
        if (!each.is_object()) continue;
        const auto& event = each.get_object();
        if (auto entry = etcd_entry_of(object_of(event, "kv")))
            all.emplace_back(*std::move(entry), view_of(event, "type") == "DELETE");
    }
    return all;
}

}  // namespace

void log_refusal(const etcd_refusal& refused) { log::warning("etcd_refused", {{"reason", refused.what()}}); }

etcd_client::etcd_client(asio::any_io_executor executor, const cluster_settings& config, trust_now trust)
    : config_(config),
      trust_(std::move(trust)),
      idle_(std::make_shared<idle_connections>(executor, most_idle, longest_idle))
{
    for (const auto& each : config.cluster_etcd)
        if (auto endpoint = etcd_endpoint::read(each)) endpoints_.push_back(*std::move(endpoint));
}

http_connection::request etcd_client::post(const std::string& path, std::string body) const
{
    http_connection::request post(http::verb::post, "/v3/" + path, 11);
    post.set(http::field::host, "etcd");
    post.set(http::field::content_type, "application/json");
    if (!token_.empty()) post.set(http::field::authorization, token_);
    post.body() = std::move(body);
    post.prepare_payload();
    return post;
}

awaitable<etcd_client::connection> etcd_client::connect(etcd_endpoint to)
{
    connection fresh;
    std::string problem;
    try {
        auto socket = co_await reach(to.host, to.port, time_to_connect);
        fresh = std::make_unique<http_connection>(std::move(socket));
    } catch (const unreachable_server& failure) {
        problem = failure.what();
    }
    if (!fresh) throw_away(to, problem);
    if (!to.secure) co_return fresh;
    auto& stream = fresh->stream();
    stream.expires_after(time_to_connect);
    const auto trust = trust_();
    const auto failure = co_await secure(stream, *trust, to.host, address_in(to.host).has_value());
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    if (failure) throw_away(to, "no secure connection: " + handshake_problem(stream.tls(), failure));
    stream.expires_never();
    co_return fresh;
}

awaitable<json::object> etcd_client::read(std::string text)
{
    const auto size = text.size();
    auto read = [text = std::move(text)] { return jsonrpc::read_object(text); };
    auto* const pool = pool_.lock().get();
    auto said = co_await by_size(pool, blocking_pool::server, size, std::move(read));
    co_return said;
}

// A connection that waited may have ended meanwhile, so another one is tried then. The order of a transaction may go
// out twice: its conditions hold once.
awaitable<json::object> etcd_client::ask_member(etcd_endpoint to, std::string path, std::string body)
{
    const auto order = post(path, std::move(body));
    auto through = idle_->take(name_of(to));
    for (;;) {
        const bool is_old = static_cast<bool>(through);
        if (!is_old) through = co_await connect(to);
        http_connection::whole_parser answer;
        answer.body_limit(most_bytes);
        const auto failure = co_await through->ask(order, answer);
        if (failure && is_old && failure != asio::error::operation_aborted) {
            through.reset();
            continue;
        }
        check(failure, to);
        const auto status = answer.get().result_int();
        std::string text = std::move(answer.get().body());
        if (answer.keep_alive()) idle_->give_back(name_of(to), std::move(through));
        auto said = co_await read(std::move(text));
        if (status != 200) throw_refusal(said, status);
        co_return said;
    }
}

awaitable<json::object> etcd_client::ask_any(std::string path, std::string body, milliseconds limit)
{
    std::string problem = "CLUSTER_ETCD names no member.";
    for (std::size_t tries = 0; tries != endpoints_.size(); ++tries) {
        const auto to = endpoints_[at_ % endpoints_.size()];
        try {
            auto work = ask_member(to, path, body);
            auto said = co_await with_deadline(std::move(work), limit / 2);
            note({});
            co_return said;
        } catch (const deadline_exceeded&) {
            problem = "etcd at " + name_of(to) + " does not answer in time.";
        } catch (const etcd_away& failure) {
            problem = failure.what();
        } catch (const etcd_refusal& refused) {
            // 14: it has no leader, so another one may know more.
            if (refused.code != 14) throw;
            problem = refused.what();
        }
        leave_member();
    }
    note(problem);
    throw etcd_away(problem);
}

// A member that is cut off from the others tells a watch nothing, so watches go with the questions.
void etcd_client::leave_member()
{
    ++at_;
    for (auto* each : *watches_) each->expires_after(milliseconds(0));
}

void etcd_client::note(const std::string& trouble)
{
    count(trouble.empty() ? "answered" : "away");
    if (trouble.empty() && !trouble_.empty()) log::info("etcd_reached");
    if (!trouble.empty() && trouble_.empty()) log::warning("etcd_away", {{"reason", trouble}});
    trouble_ = trouble;
}

// etcd takes its time for a password, so all wait for one login, and a failed one is not repeated at once.
awaitable<> etcd_client::log_in()
{
    while (logs_in_) co_await logged_in_.wait();
    if (!token_.empty()) co_return;
    if (event::clock::now() < next_login_) throw etcd_away("etcd has not taken the login of CLUSTER_ETCD_USER yet.");
    const raised_flag tries(logs_in_, &logged_in_);
    login_pause_ = std::clamp(2 * login_pause_, first_pause, longest_pause);
    next_login_ = event::clock::now() + time_to_log_in;
    const json::object who{{"name", config_.cluster_etcd_user}, {"password", config_.cluster_etcd_password}};
    auto body = jsonrpc::write_json(who);
    std::optional<etcd_refusal> refused;
    try {
        const auto said = co_await ask_any("auth/authenticate", std::move(body), 2 * time_to_log_in);
        token_ = text_of(said, "token");
        login_pause_ = {};
    } catch (const etcd_refusal& refusal) {
        refused.emplace(refusal);
    } catch (const etcd_away&) {
        next_login_ = event::clock::now() + login_pause_;
        throw;
    }
    next_login_ = event::clock::now() + login_pause_;
    if (refused) throw etcd_refusal(*refused);
}

awaitable<json::object> etcd_client::ask(std::string path, json::object body, milliseconds limit)
{
    const bool has_user = !config_.cluster_etcd_user.empty();
    const auto text = jsonrpc::write_json(body);
    for (bool is_first = true;; is_first = false) {
        if (has_user && token_.empty()) co_await log_in();
        const auto used = token_;
        try {
            auto said = co_await ask_any(path, text, limit);
            co_return said;
        } catch (const etcd_refusal& refused) {
            const bool is_old = refused.code == not_authenticated ||
                                std::string_view(refused.what()).find(no_such_token) != std::string_view::npos;
            if (!has_user || !is_old || !is_first) throw;
        }
        if (token_ == used) token_.clear();
    }
}

awaitable<std::optional<etcd_entry>> etcd_client::get(std::string key)
{
    json::object question{{"key", base64_encode(key)}};
    const auto said = co_await ask("kv/range", std::move(question));
    auto all = entries_in(said);
    std::optional<etcd_entry> entry;
    if (!all.empty()) entry = std::move(all.front());
    co_return entry;
}

awaitable<std::vector<etcd_entry>> etcd_client::all_below(std::string prefix)
{
    json::object question{{"key", base64_encode(prefix)}, {"range_end", base64_encode(end_of_prefix(prefix))}};
    const auto said = co_await ask("kv/range", std::move(question));
    co_return entries_in(said);
}

awaitable<etcd_outcome> etcd_client::commit(etcd_transaction what)
{
    auto request = what.request();
    const auto said = co_await ask("kv/txn", std::move(request));
    co_return outcome_in(said);
}

awaitable<etcd_outcome> etcd_client::put(std::string key, std::string value, std::int64_t lease)
{
    etcd_transaction what;
    what.put(key, value, lease);
    return commit(std::move(what));
}

awaitable<etcd_outcome> etcd_client::put_if_absent(std::string key, std::string value, std::int64_t lease)
{
    value += " " + random_id();
    etcd_transaction what;
    what.if_absent(key).put(key, value, lease).read(key);
    auto outcome = co_await commit(std::move(what));
    const auto* there = outcome.first();
    if (there != nullptr && there->value == value) outcome.done = true;
    co_return outcome;
}

awaitable<std::int64_t> etcd_client::grant(std::int64_t seconds)
{
    json::object wish{{"TTL", std::to_string(seconds)}};
    const auto said = co_await ask("lease/grant", std::move(wish));
    co_return etcd_number(said, "ID");
}

awaitable<> etcd_client::revoke(std::int64_t lease)
{
    json::object which{{"ID", std::to_string(lease)}};
    co_await ask("lease/revoke", std::move(which));
}

// What is there is read first, and the watch begins behind its revision.
awaitable<> etcd_client::watch_once(std::string prefix, listener to)
{
    const auto key = base64_encode(prefix);
    const auto end = base64_encode(end_of_prefix(prefix));
    json::object question{{"key", key}, {"range_end", end}};
    if (!to.wants_all) question["count_only"] = true;
    const auto all = co_await ask("kv/range", std::move(question));
    const auto revision = etcd_number(object_of(all, "header"), "revision");
    to.whole(entries_in(all));
    const auto from = endpoints_[at_ % endpoints_.size()];
    auto through = co_await connect(from);
    const json::object create{{"key", key}, {"range_end", end}, {"start_revision", std::to_string(revision + 1)}};
    const auto order = post("watch", jsonrpc::write_json(json::object{{"create_request", create}}));
    const auto unsent = co_await through->write(order);
    check(unsent, from);
    http_connection::parser answer;
    answer.body_limit(boost::none);
    through->stream().expires_after(time_to_begin);
    const auto unread = co_await through->read_header(answer);
    check(unread, from);
    if (answer.get().result_int() != 200) throw watch_ended();
    line_reader lines;
    std::vector<char> room(piece_bytes);
    through->stream().expires_never();
    const watch_mark mark(watches_, through->stream());
    for (;;) {
        const auto piece = co_await through->read_body(answer, asio::buffer(room));
        lines.put({room.data(), piece.size});
        for (auto line = lines.next(); line; line = lines.next()) {
            const auto message = co_await read(*std::move(line));
            for (auto& [entry, removed] : events_in(message)) to.changed(std::move(entry), removed);
        }
        check(piece.failure, from);
        if (answer.is_done() || lines.too_long()) throw watch_ended();
    }
}

awaitable<> etcd_client::watch(std::string prefix, listener to)
{
    auto pause = first_pause;
    for (;;) {
        const auto began = std::chrono::steady_clock::now();
        std::string problem;
        try {
            co_await watch_once(prefix, to);
        } catch (const boost::system::system_error&) {
            throw;
        } catch (const watch_ended&) {
            problem = "ended";
        } catch (const std::runtime_error& failure) {
            problem = failure.what();
        }
        if (to.ended) to.ended();
        log::debug("etcd_watch_ended", {{"prefix", prefix}, {"reason", problem}});
        if (std::chrono::steady_clock::now() - began > longest_pause) pause = first_pause;
        co_await pause_for(pause);
        pause = std::min(2 * pause, longest_pause);
    }
}

}  // namespace cmcp
