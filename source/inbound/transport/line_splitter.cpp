#include "transport/line_splitter.hpp"

#include <utility>

namespace cmcp {

void line_splitter::append(std::string_view bytes)
{
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    buffer_.append(bytes);
}

line_splitter::line line_splitter::take(std::size_t length)
{
    line taken;
    taken.too_long = std::exchange(dropping_, false) || length > longest_;
    if (!taken.too_long) taken.text = buffer_.substr(begin_, length);
    if (!taken.text.empty() && taken.text.back() == '\r') taken.text.pop_back();
    return taken;
}

std::optional<line_splitter::line> line_splitter::next()
{
    const auto end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
        auto taken = take(end - begin_);
        begin_ = searched_ = end + 1;
        return taken;
    }
    searched_ = buffer_.size();
    if (searched_ - begin_ > longest_) {
        dropping_ = true;
        begin_ = searched_;
    }
    return std::nullopt;
}

std::optional<line_splitter::line> line_splitter::rest()
{
    if (begin_ == buffer_.size() && !dropping_) return std::nullopt;
    auto taken = take(buffer_.size() - begin_);
    begin_ = searched_ = buffer_.size();
    return taken;
}

}  // namespace cmcp
