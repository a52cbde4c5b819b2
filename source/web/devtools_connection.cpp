#include "web/devtools_connection.hpp"

#include "async/event.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/utf8_text.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t escape_length = 6;  // \uXXXX
constexpr std::size_t deepest = 128;

std::optional<json::object> try_parse(const std::string& text)
{
    json::parse_options how;
    how.max_depth = deepest;
    json::error_code failure;
    json::value value = json::parse(text, failure, {}, how);
    if (failure || !value.is_object()) return std::nullopt;
    return std::move(value.as_object());
}

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

}  // namespace

json::object parse_devtools(std::string text)
{
    if (auto parsed = try_parse(text)) return std::move(*parsed);
    text = replace_invalid_utf8(text);
    replace_half_pairs(text);
    if (auto parsed = try_parse(text)) return std::move(*parsed);
    throw devtools_closed("the browser sent what is no JSON object");
}

// A call that waits for its answer; `arrived` is notified once it is answered.
struct devtools_connection::question {
    explicit question(std::string of) : session(std::move(of)) {}
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

// Takes the question back when its call has ended.
struct devtools_connection::waiting_place {
    std::shared_ptr<devtools_connection> in;
    std::uint64_t id;
    ~waiting_place() { in->questions_.erase(id); }
};

devtools_connection::devtools_connection(stream socket, std::size_t longest)
    : socket_(std::move(socket)), longest_(longest)
{
}

awaitable<> devtools_connection::run()
{
    auto kept = shared_from_this();
    std::string held;
    auto bytes = std::make_unique<std::array<char, 128 * 1024>>();
    try {
        for (;;) {
            auto space = asio::buffer(*bytes);
            auto [error, length] = co_await socket_.async_read_some(space, as_tuple);
            if (error) break;
            std::size_t begin = 0, unseen = held.size();
            held.append(bytes->data(), length);
            for (std::size_t end; (end = held.find('\0', unseen)) != std::string::npos; begin = unseen = end + 1)
                take(parse_devtools(held.substr(begin, end - begin)));
            held.erase(0, begin);
            if (held.size() > longest_) throw devtools_closed("the browser sent a message that is too long");
        }
    } catch (const devtools_closed& problem) {
        close(problem.what());
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
    auto kept = shared_from_this();
    if (!open()) throw devtools_closed(closed_because_);
    const auto id = post(session, method, std::move(params));
    auto waiting = std::make_shared<question>(session);
    questions_.emplace(id, waiting);
    const waiting_place place{kept, id};
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
    for (auto& [id, waiting] : questions_)
        if (waiting->session == session) waiting->fail(why);
}

void devtools_connection::take(json::object message)
{
    if (message.contains("id"))
        answer(message);
    else
        deliver(message);
}

void devtools_connection::answer(const json::object& message)
{
    const json::value& id = message.at("id");
    const auto entry = questions_.find(id.is_int64() ? static_cast<std::uint64_t>(id.get_int64()) : 0);
    if (entry == questions_.end()) return;
    question& waiting = *entry->second;
    const json::value* result = message.if_contains("result");
    const json::value* error = message.if_contains("error");
    if (result != nullptr && result->is_object())
        waiting.result = result->get_object();
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
    for (auto& [id, waiting] : questions_) {
        waiting->lost = !waiting->answered();
        waiting->fail(why);
    }
    const auto handlers = handlers_;
    for (const auto& [session, handler] : handlers)
        if (handlers_.contains(session)) handler({}, {});
}

}  // namespace cmcp
