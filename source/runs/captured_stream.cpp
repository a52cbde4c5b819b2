#include "runs/captured_stream.hpp"

#include <algorithm>

namespace cmcp {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The bytes dropped before the tail may have ended within a character.
std::string_view without_cut_beginning(std::string_view text)
{
    while (!text.empty() && is_continuation(text.front())) text.remove_prefix(1);
    return text;
}

// The head was filled to the last byte: its end may be the beginning of a character.
std::string_view without_cut_character(std::string_view text)
{
    std::size_t lead = text.size();
    while (lead > 0 && is_continuation(text[--lead])) {
    }
    if (text.empty()) return text;
    const auto byte = static_cast<unsigned char>(text[lead]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return lead + length > text.size() ? text.substr(0, lead) : text;
}

}  // namespace

std::string captured_stream::add(std::string_view bytes)
{
    bytes_ += bytes.size();
    std::string text = cleaner_.add(bytes);
    keep(text);
    return text;
}

std::string captured_stream::finish()
{
    std::string text = cleaner_.finish();
    keep(text);
    return text;
}

void captured_stream::keep(std::string_view text)
{
    size_ += text.size();
    const std::size_t to_head = std::min(text.size(), head_most_ - head_.size());
    head_.append(text.substr(0, to_head));
    text.remove_prefix(to_head);
    if (text.size() >= tail_most_) {
        tail_.assign(text.substr(text.size() - tail_most_));
        return;
    }
    tail_.append(text);
    // Cut in large steps: removing a few bytes from the front at each call would be quadratic.
    if (tail_.size() > 2 * tail_most_) tail_.erase(0, tail_.size() - tail_most_);
}

std::string captured_stream::text(std::string_view where) const
{
    if (!truncated()) return head_ + tail_;
    const std::string_view tail = without_cut_beginning(utf8_suffix(tail_, tail_most_));
    const std::string_view head = without_cut_character(head_);
    std::string text(head);
    text.append("\n[... ").append(std::to_string(size_ - head.size() - tail.size())).append(" bytes left out here");
    if (!where.empty()) text.append("; all of it: ").append(where);
    text.append(" ...]\n").append(tail);
    return text;
}

}  // namespace cmcp
