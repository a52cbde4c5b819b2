#include "web/devtools_connection.hpp"

#include "async/event.hpp"
#include "jsonrpc/json_reader.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/utf8_text.hpp"
#include "web/page_log.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_on_loop = 4096;  // bytes; longer messages are parsed on the pool
constexpr std::size_t most_in_a_row = 64;      // messages, before others have their turn
constexpr std::size_t most_unsent = 1000;      // commands that the browser does not read
constexpr std::size_t most_read = 128 * 1024;
constexpr std::size_t longest_event = 64 * 1024;  // of those whose length a page chooses
constexpr std::size_t longest_end = 200;          // of a message; its last member names the session

bool is_of_page(std::string_view message)
{
    return message.starts_with(R"({"method":"Runtime.)") || message.starts_with(R"({"method":"Log.)");
}

// What stands for an event that was too long, of which this is the end. Quotes within texts of the page are escaped.
std::string unread(std::string_view end)
{
    constexpr std::string_view member = R"("sessionId":")";
    const auto begin = end.rfind(member);
    json::object event{{"method", unread_event}};
    if (begin != std::string_view::npos) {
        end.remove_prefix(begin + member.size());
        event["sessionId"] = end.substr(0, end.find('"'));
    }
    return jsonrpc::write_json(event);
}

constexpr std::size_t escape_length = 6;  // \uXXXX
constexpr jsonrpc::json_bounds bounds{.depth = 128, .values = most_devtools_values, .members = most_devtools_values};

// The code unit that the escape at `at` stands for; 0: there is no escape of that kind.
unsigned long unit_at(const std::string& text, std::size_t at)
{
    if (at + escape_length > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
    return std::strtoul(text.substr(at + 2, 4).c_str(), nullptr, 16);
}

bool is_high(unsigned long unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(unsigned long unit) { return unit >= 0xDC00 && unit < 0xE000; }

void replace_half_pairs(std::string& text)
{
    for (std::size_t at = text.find('\\'); at != std::string::npos; at = text.find('\\', at)) {
        const auto unit = unit_at(text, at);
        if (is_high(unit) && is_low(unit_at(text, at + escape_length))) {
            at += 2 * escape_length;
            continue;
        }
        if (is_high(unit) || is_low(unit)) text.replace(at + 2, 4, "fffd");
        at += 2;
    }
}

class messages_parser {
public:
    explicit messages_parser(std::string messages) : messages_(std::move(messages)) {}

    std::optional<std::vector<json::object>> parse_until(std::chrono::steady_clock::time_point until)
    {
        while (next_ < messages_.size() || parsing_) {
            if (!parsing_) begin_next();
            if (!parser_.read_until(until)) return std::nullopt;
            if (const auto& fault = parser_.fault())
                mend(*fault);
            else
                keep(parser_.take());
            if (std::chrono::steady_clock::now() >= until) return std::nullopt;
        }
        return std::move(parsed_);
    }

private:
    void begin(std::string_view text)
    {
        text_ = text;
        parser_.begin(text);
        parsing_ = true;
    }
    void begin_next()
    {
        const auto begins = std::exchange(next_, messages_.find('\0', next_) + 1);
        mended_ = false;
        begin(std::string_view(messages_).substr(begins, next_ - begins - 1));
    }
    void mend(const jsonrpc::json_fault& fault)
    {
        using kind = jsonrpc::json_fault::kind;
        if (fault.is == kind::too_deep) throw devtools_closed("the browser sent a message that is nested too deeply");
        if (fault.is == kind::too_many_values || fault.is == kind::too_many_members)
            throw devtools_closed("the browser sent a message of too many values");
        if (std::exchange(mended_, true)) throw devtools_closed("the browser sent what is no JSON object");
        mended_text_ = replace_invalid_utf8(text_);
        replace_half_pairs(mended_text_);
        begin(mended_text_);
    }
    void keep(json::value message)
    {
        if (!message.is_object()) throw devtools_closed("the browser sent what is no JSON object");
        parsed_.push_back(std::move(message.as_object()));
        parsing_ = false;
    }

    const std::string messages_;
    std::size_t next_ = 0;  // where the next message begins
    std::string mended_text_;
    std::string_view text_;  // of the message that is parsed
    bool parsing_ = false;
    bool mended_ = false;
    jsonrpc::json_reader parser_{bounds};
    std::vector<json::object> parsed_;
};

}  // namespace

// A call that waits for its answer; `arrived` is notified once it is answered.
struct devtools_connection::pending_call {
    explicit pending_call(std::string of) : session(std::move(of)) {}
    bool answered() const { return result || !error.empty(); }
    void fail(const std::string& why)
    {
        if (answered()) return;
        error = why;
        arrived.notify();
    }

    event arrived;
    std::string session;
    std::optional<json::object> result;
    std::string error;
    bool lost = false;
};

// Forgets the call when its awaitable has ended.
struct devtools_connection::pending_call_guard {
    std::shared_ptr<devtools_connection> in;
    std::uint64_t id;
    ~pending_call_guard() { in->pending_calls_.erase(id); }
};

devtools_connection::devtools_connection(stream socket, blocking_pool& pool, std::string principal, std::size_t longest)
    : socket_(std::move(socket)), pool_(pool), principal_(std::move(principal)), longest_(longest), read_(most_read)
{
}

awaitable<> devtools_connection::run()
{
    auto self = shared_from_this();
    try {
        while (open()) {
            auto text = co_await read_messages();
            if (text.empty()) break;
            auto messages = co_await parse(std::move(text));
            co_await take_all(std::move(messages));
        }
    } catch (const devtools_closed& problem) {
        close(problem.what());
    }
}

awaitable<std::string> devtools_connection::read_messages()
{
    for (;;) {
        auto space = asio::buffer(read_);
        auto [error, length] = co_await socket_.async_read_some(space, as_tuple);
        if (error) co_return std::string();
        auto messages = take_bytes({read_.data(), length});
        if (!messages.empty()) co_return messages;
    }
}

std::string devtools_connection::take_bytes(std::string_view bytes)
{
    if (passes_over_) {
        const auto rest = bytes.substr(0, bytes.find('\0'));
        held_.append(rest);
        held_.erase(0, held_.size() - std::min(held_.size(), longest_end));
        if (rest.size() == bytes.size()) return {};
        bytes.remove_prefix(rest.size());
        held_ = unread(held_);
        passes_over_ = false;
    }
    const auto whole = bytes.rfind('\0') + 1;  // npos + 1 is 0
    held_.append(bytes.substr(0, whole == 0 ? bytes.size() : whole));
    if (held_.size() > longest_) throw devtools_closed("the browser sent a message that is too long");
    if (whole != 0) return std::exchange(held_, std::string(bytes.substr(whole)));
    passes_over_ = held_.size() > longest_event && is_of_page(held_);
    return {};
}

awaitable<std::vector<json::object>> devtools_connection::parse(std::string text)
{
    const bool is_short = text.size() <= longest_on_loop;
    auto work = parse_devtools(std::move(text));
    if (is_short) co_return whole(std::move(work));
    auto messages = co_await pool_.run_long(principal_, std::move(work));
    co_return messages;
}

awaitable<> devtools_connection::take_all(std::vector<json::object> messages)
{
    std::size_t count = 0;
    for (auto& message : messages) {
        if (!open()) co_return;
        take(std::move(message));
        if (++count % most_in_a_row == 0) co_await asio::post(socket_.get_executor(), asio::use_awaitable);
    }
}

std::uint64_t devtools_connection::post(const std::string& session, std::string_view method, json::object params)
{
    const auto id = ++last_id_;
    json::object message;
    message["id"] = id;
    message["method"] = method;
    if (!params.empty()) message["params"] = std::move(params);
    if (!session.empty()) message["sessionId"] = session;
    if (outbox_.size() == most_unsent) {
        close("the browser does not read its messages");
        return id;
    }
    outbox_.push_back(jsonrpc::write_json(message));
    outbox_.back().push_back('\0');
    flush();
    return id;
}

void devtools_connection::flush()
{
    if (writing_ || outbox_.empty() || !open()) return;
    writing_ = true;
    asio::async_write(socket_, asio::buffer(outbox_.front()),
                      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                          self->writing_ = false;
                          self->outbox_.pop_front();
                          if (error) self->close("the browser ended");
                          self->flush();
                      });
}

awaitable<json::object> devtools_connection::call(std::string session, std::string method, json::object params)
{
    auto self = shared_from_this();
    if (!open()) throw devtools_closed(closed_because_);
    const auto id = post(session, method, std::move(params));
    if (!open()) throw devtools_closed(closed_because_);
    auto waiting = std::make_shared<pending_call>(session);
    pending_calls_.emplace(id, waiting);
    const pending_call_guard guard{self, id};
    while (!waiting->answered()) co_await waiting->arrived.wait();
    if (waiting->result) co_return std::move(*waiting->result);
    if (waiting->lost) throw devtools_closed(waiting->error);
    throw devtools_error(waiting->error);
}

void devtools_connection::send(const std::string& session, std::string_view method, json::object params)
{
    if (open()) post(session, method, std::move(params));
}

void devtools_connection::listen(const std::string& session, event_handler handler)
{
    handlers_[session] = std::move(handler);
}

void devtools_connection::ignore(const std::string& session) { handlers_.erase(session); }

void devtools_connection::abandon(const std::string& session, const std::string& why)
{
    for (auto& [id, waiting] : pending_calls_)
        if (waiting->session == session) waiting->fail(why);
}

void devtools_connection::take(json::object message)
{
    if (message.contains("id"))
        answer(message);
    else
        deliver(message);
}

void devtools_connection::answer(json::object& message)
{
    const json::value& id = message.at("id");
    const auto entry = pending_calls_.find(id.is_int64() ? static_cast<std::uint64_t>(id.get_int64()) : 0);
    if (entry == pending_calls_.end()) return;
    pending_call& waiting = *entry->second;
    json::value* result = message.if_contains("result");
    const json::value* error = message.if_contains("error");
    if (result != nullptr && result->is_object())
        waiting.result = std::move(result->get_object());
    else
        waiting.error = error != nullptr && error->is_object() ? text_of(error->get_object(), "message") : "no result";
    if (!waiting.result && waiting.error.empty()) waiting.error = "unknown error";
    waiting.arrived.notify();
}

void devtools_connection::deliver(json::object& message)
{
    const auto entry = handlers_.find(text_of(message, "sessionId"));
    if (entry == handlers_.end()) return;
    // A copy, because the handler may take itself out of the map.
    const event_handler handler = entry->second;
    handler(text_of(message, "method"), object_of(message, "params"));
}

void devtools_connection::close(const std::string& why)
{
    if (!open()) return;
    closed_because_ = why;
    boost::system::error_code ignored;
    socket_.close(ignored);
    for (auto& [id, waiting] : pending_calls_) {
        waiting->lost = !waiting->answered();
        waiting->fail(why);
    }
    const auto handlers = handlers_;
    for (const auto& [session, handler] : handlers)
        if (handlers_.contains(session)) handler({}, {});
}

sliced_work<std::vector<json::object>> parse_devtools(std::string messages)
{
    const auto parser = std::make_shared<messages_parser>(std::move(messages));
    return [parser](std::chrono::steady_clock::time_point until) { return parser->parse_until(until); };
}

}  // namespace cmcp
