#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "config/etcd_endpoint.hpp"
#include "etcd/etcd_keys.hpp"
#include "streams/http_connection.hpp"

#include <boost/asio/ssl/context.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace cmcp {

struct cluster_settings;

/// No member of etcd has answered; what was asked for may have been done. what() is a sentence.
struct etcd_away : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// etcd has answered that it does not do this. what() is a sentence; `code` as gRPC has it (5: not found).
struct etcd_refusal : std::runtime_error {
    etcd_refusal(const std::string& sentence, std::int64_t as) : std::runtime_error(sentence), code(as) {}
    std::int64_t code;
    bool is_missing() const { return code == 5; }
};

void log_refusal(const etcd_refusal& refused);

/// etcd (3.4 and newer) by its JSON gateway, HTTP POST of /v3/… over a few connections. The member that has answered
/// last is asked first, then the others. Calls throw etcd_away and etcd_refusal. Io thread only.
class etcd_client {
public:
    /// The certificates that count for a connection which is made now.
    using trust_now = std::function<std::shared_ptr<boost::asio::ssl::context>()>;

    /// CLUSTER_ETCD and its like; `config` must outlive this.
    etcd_client(asio::any_io_executor executor, const cluster_settings& config, trust_now trust);

    /// Where long answers are read; before that they are read at once.
    void work_on(std::weak_ptr<blocking_pool> pool) { pool_ = std::move(pool); }

    /// Whether it has answered the last question.
    bool is_there() const { return trouble_.empty(); }

    static constexpr std::chrono::milliseconds patience{2000};

    /// The answer of `/v3/<path>`. A member that does not answer within a part of the limit is left for the next one.
    awaitable<json::object> ask(std::string path, json::object body, std::chrono::milliseconds limit = patience);

    awaitable<std::optional<etcd_entry>> get(std::string key);
    awaitable<std::vector<etcd_entry>> all_below(std::string prefix);
    awaitable<etcd_outcome> commit(etcd_transaction what);
    awaitable<etcd_outcome> put(std::string key, std::string value, std::int64_t lease = 0);

    /// A word of its own is put behind the value: a put that was repeated because its answer was lost is done, too.
    awaitable<etcd_outcome> put_if_absent(std::string key, std::string value, std::int64_t lease = 0);

    /// A lease of so many seconds: its number.
    awaitable<std::int64_t> grant(std::int64_t seconds);
    awaitable<> revoke(std::int64_t lease);

    struct listener {
        /// All that is there, at the begin and whenever changes may have been missed; empty unless it wants_all.
        std::function<void(std::vector<etcd_entry> all)> whole;
        std::function<void(etcd_entry entry, bool removed)> changed;
        std::function<void()> ended{};  ///< changes are missed from now on
        bool wants_all = true;
    };
    /// Tells what is below the prefix until it is cancelled, over connections of its own.
    awaitable<> watch(std::string prefix, listener to);

private:
    using connection = std::unique_ptr<http_connection>;

    awaitable<connection> connect(etcd_endpoint to);
    awaitable<json::object> ask_member(etcd_endpoint to, std::string path, std::string body);
    awaitable<json::object> ask_any(std::string path, std::string body, std::chrono::milliseconds limit);
    awaitable<json::object> read(std::string text);
    awaitable<> log_in();
    awaitable<> watch_once(std::string prefix, listener to);
    http_connection::request post(const std::string& path, std::string body) const;
    void leave_member();
    void note(const std::string& trouble);

    const cluster_settings& config_;
    std::vector<etcd_endpoint> endpoints_;
    trust_now trust_;
    std::size_t at_ = 0;  // the endpoint that has answered last
    std::shared_ptr<idle_connections> idle_;
    std::shared_ptr<std::set<byte_stream*>> watches_ = std::make_shared<std::set<byte_stream*>>();
    std::string token_;  // of the user
    bool logs_in_ = false;
    event logged_in_;  // or not
    event::clock::time_point next_login_{};
    std::chrono::milliseconds login_pause_{};
    std::weak_ptr<blocking_pool> pool_;
    std::string trouble_;  // as the log has it; empty: it has answered
};

/// The answer to a question that may stay without one: nothing, where etcd is away, which nobody waits for then, or
/// refuses, which the log tells.
template <class T>
awaitable<std::optional<T>> if_answered(const etcd_client& by, awaitable<T> question)
{
    std::optional<T> answer;
    if (!by.is_there()) co_return answer;
    try {
        answer = co_await std::move(question);
    } catch (const etcd_away&) {
        answer.reset();
    } catch (const etcd_refusal& refused) {
        log_refusal(refused);
    }
    co_return answer;
}

}  // namespace cmcp
