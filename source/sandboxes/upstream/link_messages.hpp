#pragma once

#include "async/blocking_pool.hpp"
#include "jsonrpc/message.hpp"
#include "upstream/upstream_link.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// An answer that is waited for.
struct awaited_answer {
    upstream_progress_handler on_progress;
    std::optional<jsonrpc::response> answer;  ///< once it came
    double progress = -std::numeric_limits<double>::infinity();
};

/// Sorts what a server says. Answers that nobody waits for, second answers, progress of nothing that is under way and
/// unknown notifications are dropped. No I/O.
class link_messages {
public:
    static constexpr std::size_t most_replies = 16;  ///< to requests of the server, between two answers of its own

    /// `pool`: where long messages are written and decoded, in the turn of all upstream servers; null: where take() is
    /// called.
    explicit link_messages(blocking_pool* pool = nullptr) : pool_(pool) {}

    std::function<void(std::string)> reply;  ///< gets what the server is to be sent; may be empty
    std::function<void()> tools_changed;     ///< may be empty

    /// Until the returned pointer goes.
    std::shared_ptr<awaited_answer> expect(std::int64_t id, upstream_progress_handler on_progress);

    /// The text of a request.
    awaitable<std::string> write(std::int64_t id, std::string method, json::object params);

    /// True when an answer came that was waited for. Throws jsonrpc::decode_error.
    awaitable<bool> take(std::string text);

private:
    bool sort(jsonrpc::payload said);
    bool take_answer(jsonrpc::response&& answer);
    void take_notification(const jsonrpc::notification& what);
    void take_progress(const json::object& params);
    void take_request(const jsonrpc::request& what);
    std::shared_ptr<awaited_answer> waiting_for(const json::value* id);

    blocking_pool* pool_;
    std::map<std::int64_t, std::weak_ptr<awaited_answer>> waiting_;
    std::size_t replies_ = 0;
};

/// The result of an answer. Throws upstream_refusal; upstream_problem: the result is no object.
json::object result_of(jsonrpc::response answer, std::string_view method);

/// `_meta` and params of a request. `stateless`: as revision 2026-07-28 wants it.
json::object params_with_meta(json::object params, std::int64_t id, bool wants_progress, bool stateless);

json::object initialize_params();

/// The revision that an answer to initialize names. Throws upstream_problem: none that is spoken here.
std::string agreed_revision(const json::object& result);

}  // namespace cmcp
