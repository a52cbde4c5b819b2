#include "transport/line_splitter.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t long_line = 1 << 20, most_room = 64 << 20;

}  // namespace

void line_splitter::append(std::string_view bytes)
{
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    // A long line that is copied each time its room doubles would hold the loop; what is not filled costs nothing.
    if (buffer_.size() > long_line && buffer_.capacity() < most_room)
        buffer_.reserve(std::min(longest_, most_room - long_line) + long_line);
    buffer_.append(bytes);
}

// A long line takes the buffer with it: what stands behind it is less to copy.
line_splitter::line line_splitter::take(std::size_t length)
{
    line taken;
    taken.too_long = std::exchange(dropping_, false) || length > longest_;
    if (!taken.too_long && begin_ == 0 && length > long_line) {
        std::string behind = buffer_.substr(length);
        buffer_.resize(length);
        taken.text = std::exchange(buffer_, std::move(behind));
    } else {
        if (!taken.too_long) taken.text = buffer_.substr(begin_, length);
        begin_ += length;
    }
    searched_ = begin_;
    if (!taken.text.empty() && taken.text.back() == '\r') taken.text.pop_back();
    return taken;
}

std::optional<line_splitter::line> line_splitter::next()
{
    const auto end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
        auto taken = take(end - begin_);
        searched_ = ++begin_;
        return taken;
    }
    searched_ = buffer_.size();
    if (searched_ - begin_ > longest_) {
        dropping_ = true;
        buffer_ = std::string();
        begin_ = searched_ = 0;
    }
    return std::nullopt;
}

std::optional<line_splitter::line> line_splitter::rest()
{
    if (begin_ == buffer_.size() && !dropping_) return std::nullopt;
    return take(buffer_.size() - begin_);
}

}  // namespace cmcp
