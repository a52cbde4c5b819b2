#include "egress/websocket_mask.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t shortest_header = 2;
constexpr std::uint64_t longest_control = 125;
constexpr std::size_t most_waiting_plain = 64 * 1024;  // behind bytes of a message that are held back
constexpr std::size_t header_of_small_frame = 2;
constexpr unsigned first_control = 8, last_control = 10, last_data = 2;

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// The bytes of the length behind the first two of a header.
std::size_t size_of_length(unsigned short_length) { return short_length == 126 ? 2 : short_length == 127 ? 8 : 0; }

}  // namespace

std::string websocket_mask::feed(std::string_view piece)
{
    if (!masks_) return std::string(piece);
    while (!piece.empty() && problem_.empty()) {
        if (in_payload_) {
            piece.remove_prefix(take_payload(piece));
            continue;
        }
        header_ += piece.front();
        piece.remove_prefix(1);
        if (header_.size() == size_of_header()) begin_frame();
    }
    return released();
}

std::string websocket_mask::finish()
{
    if (!masks_) return {};
    ready_ += message_.finish();
    put(std::exchange(header_, {}));
    put(masks_->masked(std::exchange(control_, {})));
    return released();
}

std::size_t websocket_mask::size_of_header() const
{
    if (header_.size() < shortest_header) return shortest_header;
    return shortest_header + size_of_length(byte_at(header_, 1) & 0x7f);
}

// RFC 6455 sections 5.2, 5.4 and 5.5. Bits and kinds that an extension would define could hide what is within.
void websocket_mask::check_frame(unsigned first, unsigned second)
{
    const unsigned kind = first & 0x0f;
    const bool goes_on = kind == 0;
    if ((first & 0x70) != 0)
        problem_ = "used an extension that nobody asked it for";
    else if (is_control_ ? kind > last_control : kind > last_data)
        problem_ = "sent a frame of an unknown kind";
    else if ((second & 0x80) != 0)
        problem_ = "sent a frame that hides its bytes, as clients alone do";
    else if (is_control_ ? left_ > longest_control || !is_last_ : goes_on != in_message_)
        problem_ = "sent a frame out of turn";
    else if (left_ >> 63 != 0)
        problem_ = "sent a frame of an impossible length";
}

void websocket_mask::begin_frame()
{
    const unsigned first = byte_at(header_, 0), second = byte_at(header_, 1);
    is_control_ = (first & 0x0f) >= first_control;
    is_last_ = (first & 0x80) != 0;
    left_ = second & 0x7f;
    if (header_.size() > shortest_header) left_ = 0;
    for (std::size_t at = shortest_header; at < header_.size(); ++at) left_ = left_ << 8 | byte_at(header_, at);
    check_frame(first, second);
    if (!problem_.empty()) return;
    if (!is_control_) in_message_ = !is_last_;
    put(std::exchange(header_, {}));
    in_payload_ = true;
    if (left_ == 0) end_frame();
}

std::size_t websocket_mask::take_payload(std::string_view bytes)
{
    bytes = bytes.substr(0, std::min<std::uint64_t>(bytes.size(), left_));
    left_ -= bytes.size();
    if (is_control_)
        control_ += bytes;
    else
        put_message(bytes);
    if (left_ == 0) end_frame();
    return bytes.size();
}

void websocket_mask::end_frame()
{
    in_payload_ = false;
    if (is_control_)
        put(masks_->masked(std::exchange(control_, {})));
    else if (is_last_)
        ready_ += message_.finish();
}

void websocket_mask::put(std::string_view plain)
{
    if (plain.empty()) return;
    if (parts_.empty()) parts_.emplace_back();
    parts_.back().plain += plain;
    waiting_ += plain.size();
}

// A mask is as long as what it hides, so the bytes that come out are those of the frame that they came in.
void websocket_mask::put_message(std::string_view bytes)
{
    if (parts_.empty() || !parts_.back().plain.empty()) parts_.emplace_back();
    parts_.back().masked += bytes.size();
    ready_ += message_.feed(bytes);
}

std::string websocket_mask::released()
{
    std::string out;
    std::size_t released_bytes = 0;
    while (!parts_.empty()) {
        auto& next = parts_.front();
        const std::size_t now = std::min(next.masked, ready_.size() - released_bytes);
        out.append(ready_, released_bytes, now);
        released_bytes += now;
        next.masked -= now;
        if (next.masked > 0) break;
        out += next.plain;
        waiting_ -= next.plain.size();
        parts_.pop_front();
    }
    ready_.erase(0, released_bytes);
    const auto of_held = header_of_small_frame * 2 * masks_->longest_form();  // in frames of one byte each
    if (problem_.empty() && waiting_ > most_waiting_plain + of_held)
        problem_ = "sent too many frames in the middle of a message whose bytes are held back";
    return out;
}

}  // namespace cmcp
