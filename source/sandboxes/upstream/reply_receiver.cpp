#include "upstream/reply_receiver.hpp"

#include "upstream/upstream_text.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_error_body = 64 * 1024;
constexpr std::size_t longest_event_id = 1024;

[[noreturn]] void refuse_too_long()
{
    throw upstream_problem("sent a message of more than " + std::to_string(upstream_link::longest_message >> 20) +
                           " MiB, or several that are too much together");
}

}  // namespace

reply_receiver::reply_receiver(link_messages& messages, std::shared_ptr<awaited_answer> wanted, held_bytes& held,
                               stream_position from)
    : messages_(messages), wanted_(std::move(wanted)), held_(held), place_(std::move(from))
{
}

reply_receiver::~reply_receiver() { held_.now -= holds_; }

awaitable<> reply_receiver::begin(fetch_head head, std::optional<std::uint64_t> length)
{
    head_ = std::move(head);
    if (is_error() || wanted_ == nullptr) co_return;
    if (length && *length > upstream_link::longest_message) refuse_too_long();
    if (head_.type == "text/event-stream")
        events_.emplace([this](std::string_view, std::string_view data) { said_.emplace_back(data); });
    else if (head_.type != "application/json")
        throw upstream_problem("answered with " + (head_.type.empty() ? "nothing" : shown_line(head_.type, 100)) +
                               " (HTTP " + std::to_string(head_.status) + ") in place of JSON or events");
}

void reply_receiver::hold(std::size_t bytes)
{
    held_.now += bytes - holds_;
    holds_ = bytes;
    if (bytes > upstream_link::longest_message || held_.now > held_bytes::most) refuse_too_long();
}

awaitable<> reply_receiver::receive(std::string_view piece)
{
    place_.received += piece.size();
    if (place_.received > most_in_all) refuse_too_long();
    if (events_) {
        events_->feed(piece);
        hold(events_->buffered());
        auto said = std::exchange(said_, {});
        for (auto& each : said) co_await take(std::move(each));
        note_place();
        if (wanted_->answer) throw reply_complete();
        co_return;
    }
    text_ += piece;
    if (wanted_ == nullptr || (is_error() && text_.size() > longest_error_body)) throw reply_complete();
    hold(text_.size());
}

// An id is sent back in a header.
void reply_receiver::note_place()
{
    if (events_->retry()) place_.retry = events_->retry();
    const auto& id = events_->last_id();
    if (!id) return;
    const bool can_be_sent =
        id->size() <= longest_event_id && std::ranges::all_of(*id, [](char c) { return c > ' ' && c <= '~'; });
    place_.last_event = can_be_sent ? *id : std::string();
}

awaitable<> reply_receiver::take(std::string message)
{
    if (message.empty() || wanted_->answer) co_return;
    try {
        co_await messages_.take(std::move(message));
    } catch (const jsonrpc::decode_error& problem) {
        throw upstream_problem(std::string("sent no JSON-RPC. ") + problem.what());
    }
}

awaitable<> reply_receiver::finish()
{
    if (is_error() || wanted_ == nullptr) co_return;
    if (!events_) co_await take(std::move(text_));
    if (!wanted_->answer) throw upstream_problem("ended its answer without a result");
}

}  // namespace cmcp
