#include "async/with_deadline.hpp"
#include "text/sse_parser.hpp"
#include "upstream/http_link.hpp"
#include "upstream/link_messages.hpp"
#include "upstream/reply_receiver.hpp"
#include "web/http_client.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

// The part of http_link that keeps a stream open on which the server says that its tools changed.

namespace {

// Reads the stream on which a server says that something changed. Ends it with reply_complete where there is none, or
// the server says more than it may. `messages` must outlive this.
class change_receiver : public body_receiver {
public:
    static constexpr std::size_t longest_event = 1 << 20;
    static constexpr std::size_t most_in_all = 16 << 20;

    explicit change_receiver(link_messages& messages);
    change_receiver(const change_receiver&) = delete;
    change_receiver& operator=(const change_receiver&) = delete;

    awaitable<> begin(fetch_head head, std::optional<std::uint64_t> length) override;
    awaitable<> receive(std::string_view piece) override;

    bool is_stream() const { return is_stream_; }  ///< the server has one

private:
    awaitable<> take(std::string message);

    link_messages& messages_;
    sse_parser events_;
    std::vector<std::string> said_;  // by the events of the latest piece
    bool is_stream_ = false;
    std::size_t received_ = 0;
};

change_receiver::change_receiver(link_messages& messages)
    : messages_(messages), events_([this](std::string_view, std::string_view data) { said_.emplace_back(data); })
{
}

awaitable<> change_receiver::begin(fetch_head head, std::optional<std::uint64_t>)
{
    is_stream_ = head.status == 200 && head.type == "text/event-stream";
    if (!is_stream_) throw reply_complete();
    co_return;
}

awaitable<> change_receiver::receive(std::string_view piece)
{
    received_ += piece.size();
    events_.feed(piece);
    auto said = std::exchange(said_, {});
    for (auto& each : said) co_await take(std::move(each));
    if (received_ > most_in_all || events_.buffered() > longest_event) throw reply_complete();
}

// Nothing waits for an answer that fails to come here.
awaitable<> change_receiver::take(std::string message)
{
    if (message.empty()) co_return;
    try {
        co_await messages_.take(std::move(message));
    } catch (const jsonrpc::decode_error&) {
        throw reply_complete();
    }
}

constexpr std::chrono::minutes time_to_listen{10};  // without a request the stream goes then
constexpr std::chrono::milliseconds first_silence{1'000};
constexpr std::chrono::milliseconds longest_silence{60'000};

}  // namespace

void http_link::listen_soon()
{
    used_ = event::clock::now();
    if (listening_ || has_no_stream_ || closed_) return;
    listening_ = true;
    tasks_.spawn("listen to an upstream server", listen(shared_from_this()));
}

awaitable<> http_link::listen(std::shared_ptr<http_link> self)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    auto silence = first_silence;
    while (self->is_open() && event::clock::now() < self->used_ + time_to_listen) {
        const auto began = event::clock::now();
        co_await self->listen_once();
        if (self->has_no_stream_) break;
        self->tell_change();  // what was said between two streams is not known
        silence =
            event::clock::now() - began > longest_silence ? first_silence : std::min(2 * silence, longest_silence);
        timer.expires_after(silence);
        co_await timer.async_wait(asio::use_awaitable);
    }
    self->listening_ = false;
}

awaitable<> http_link::listen_once()
{
    change_receiver changes(messages_);
    auto ticket = std::make_shared<egress_ticket>("upstream " + entry_.name, policy_, egress_limits{});
    auto request = listening_request();
    request.receiver = &changes;
    auto work = client_->get(std::move(ticket), std::move(request));
    try {
        co_await with_deadline(std::move(work), time_to_listen);
    } catch (const reply_complete&) {
        has_no_stream_ = !changes.is_stream();
    } catch (const fetch_error&) {
        // The next request says what is wrong.
    } catch (const deadline_exceeded&) {
        // The server has said nothing for long, and may go on.
    }
}

// Revision 2026-07-28 has a request for it; the older ones have GET.
fetch_request http_link::listening_request()
{
    if (!stateless_) {
        auto request = request_for(post_of({}));
        request.method = "GET";
        request.accept = "text/event-stream";
        return request;
    }
    json::object wanted{{"notifications", json::object{{"toolsListChanged", true}}}};
    const auto id = next_id_++;
    auto message = post_of(
        jsonrpc::encode_request(id, "subscriptions/listen", params_with_meta(std::move(wanted), id, false, true)));
    message.method = "subscriptions/listen";
    return request_for(message);
}

}  // namespace cmcp
