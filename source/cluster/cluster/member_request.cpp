#include "cluster/member_request.hpp"

#include "http/member_caller.hpp"

#include <algorithm>
#include <vector>

namespace cmcp {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t piece_bytes = 16 * 1024;
constexpr int not_reached = 421;   // by the member between, or the other one takes nothing any more
constexpr int not_answered = 502;  // to the member between
constexpr std::size_t longest_line = 64u << 20;

// `was_asked`: the whole request went out.
member_unreachable broken_off(const cluster_member& to, const error_code& why, bool was_asked)
{
    if (why == asio::error::operation_aborted) throw boost::system::system_error(why);
    return member_unreachable("The server " + to.name + " of this cluster has not answered (" + why.message() + ").",
                              was_asked);
}

http_connection::request request_for(std::string_view method, const std::string& target, const std::string& request_id,
                                     const std::string& caller)
{
    http_connection::request request;
    request.method_string(method);
    request.target(target);
    request.set(http::field::host, "localhost");
    request.set("x-request-id", request_id);
    request.set(member_caller_field, caller);
    return request;
}

http_connection::request post_of(member_message& message)
{
    auto post = request_for("POST", "/mcp", message.request_id, message.caller);
    post.set(http::field::content_type, "application/json");
    post.set(http::field::accept, "application/json, text/event-stream");
    post.body() = std::move(message.text);
    post.prepare_payload();
    return post;
}

/// The texts of messages out of the bytes of an answer.
class message_splitter {
public:
    explicit message_splitter(bool events) : events_(events) {}

    void put(std::string_view bytes) { held_.append(bytes); }
    bool too_long() const { return held_.size() > longest_line; }

    // Nothing: more bytes are needed. A line of an event holds a whole message, because JSON has no line ends.
    std::string next()
    {
        constexpr std::string_view mark = "data: ";
        for (auto end = held_.find('\n', seen_); events_ && end != std::string::npos; end = held_.find('\n')) {
            // A line may be long, and what stands behind it is not.
            std::string behind = held_.substr(end + 1);
            held_.resize(end);
            std::string line = std::exchange(held_, std::move(behind));
            seen_ = 0;
            if (line.size() <= mark.size() || !line.starts_with(mark)) continue;
            line.erase(0, mark.size());
            return line;
        }
        seen_ = held_.size();
        return {};
    }

    std::string rest() { return events_ ? std::string() : std::exchange(held_, {}); }

private:
    bool events_;
    std::string held_;
    std::size_t seen_ = 0;  // without a line end
};

/// An exchange over a connection.
class conversation {
public:
    conversation(const member_route& route, const cluster_member& to, std::chrono::milliseconds silence)
        : connection_(*route.over), past_(route.past), to_(to), silence_(silence), piece_(piece_bytes)
    {
        parser_.body_limit(boost::none);
    }

    awaitable<> begin(http_connection::request request)
    {
        if (!past_.empty()) request.set(member_past_field, past_);
        connection_.stream().expires_after(silence_);
        const auto unsent = co_await connection_.write(request);
        if (unsent) throw broken_off(to_, unsent, false);
        connection_.stream().expires_after(silence_);
        const auto unread = co_await connection_.read_header(parser_);
        if (unread) throw broken_off(to_, unread, true);
        if (status() == not_reached)
            throw member_unreachable(past_.empty() ? about_to_stop(to_.name) : unreachable_past(to_.name));
        if (!past_.empty() && status() == not_answered)
            throw member_unreachable("The server " + to_.name + " of this cluster has not answered.", true);
    }

    int status() const { return parser_.get().result_int(); }

    // Whether the answer is whole.
    awaitable<bool> read(const message_taker& take)
    {
        const auto type = parser_.get()[http::field::content_type];
        message_splitter messages(type.starts_with("text/event-stream"));
        bool wanted = true;
        while (wanted && !parser_.is_done()) {
            co_await read_piece(messages);
            for (auto text = messages.next(); wanted && !text.empty(); text = messages.next())
                wanted = co_await take(std::move(text));
        }
        auto last = messages.rest();
        if (wanted && !last.empty()) co_await take(std::move(last));
        co_return parser_.is_done() && parser_.keep_alive() && connection_.buffer().size() == 0;
    }

private:
    awaitable<> read_piece(message_splitter& into)
    {
        connection_.stream().expires_after(silence_);
        const auto piece = co_await connection_.read_body(parser_, asio::buffer(piece_));
        into.put({piece_.data(), piece.size});
        if (piece.failure) throw broken_off(to_, piece.failure, true);
        if (into.too_long()) throw broken_off(to_, asio::error::message_size, true);
    }

    http_connection& connection_;
    const std::string& past_;
    const cluster_member& to_;
    std::chrono::milliseconds silence_;
    std::vector<char> piece_;
    http_connection::parser parser_;
};

awaitable<bool> append_to(std::string* whole, std::string text)
{
    whole->append(text);
    co_return true;
}

}  // namespace

awaitable<> send_to_member(std::shared_ptr<member_links> links, member_message message, message_taker take)
{
    auto route = co_await links->take(message.to);
    auto post = post_of(message);
    conversation with(route, message.to, message.silence);
    co_await with.begin(std::move(post));
    const bool whole = co_await with.read(take);
    if (whole) links->give_back(message.to, std::move(route));
}

awaitable<member_reply> ask_member(std::shared_ptr<member_links> links, member_request request)
{
    auto route = co_await links->take(request.to);
    auto head = request_for(request.method, request.target, request.request_id, request.caller);
    head.prepare_payload();
    conversation with(route, request.to, request.silence);
    co_await with.begin(std::move(head));
    member_reply reply{with.status(), {}};
    const message_taker take = std::bind_front(append_to, &reply.body);
    const bool whole = co_await with.read(take);
    if (whole) links->give_back(request.to, std::move(route));
    co_return reply;
}

}  // namespace cmcp
