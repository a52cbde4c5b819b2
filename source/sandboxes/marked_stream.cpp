#include "sandboxes/marked_stream.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

std::string marked_stream::put(std::string_view bytes)
{
    if (found_) return {};
    held_.append(bytes);
    if (const auto at = held_.find(mark_); at != std::string::npos) {
        found_ = true;
        held_.resize(at);
        return std::move(held_);
    }
    // Only the longest end that a mark may begin with is kept back.
    std::size_t keep = std::min(held_.size(), mark_.size() - 1);
    while (keep != 0 && !std::string_view(mark_).starts_with(std::string_view(held_).substr(held_.size() - keep)))
        --keep;
    std::string sure = held_.substr(0, held_.size() - keep);
    held_.erase(0, sure.size());
    return sure;
}

}  // namespace cmcp
