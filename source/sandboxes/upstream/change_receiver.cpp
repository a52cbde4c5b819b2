#include "upstream/change_receiver.hpp"

#include "upstream/reply_receiver.hpp"

#include <utility>

namespace cmcp {

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

}  // namespace cmcp
