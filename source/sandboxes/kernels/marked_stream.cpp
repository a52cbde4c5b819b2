#include "kernels/marked_stream.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

std::string marked_stream::put(std::string_view bytes)
{
    if (found_) {
        behind_.append(bytes);
        return {};
    }
    held_.append(bytes);
    if (paused_) return {};
    const auto stem = std::string_view(mark_).substr(0, mark_.size() - 1);
    for (auto at = held_.find(stem); at != std::string::npos; at = held_.find(stem, at + 1)) {
        const std::size_t last = at + stem.size();
        if (last == held_.size()) break;
        paused_ = held_[last] == pause_byte;
        found_ = held_[last] == mark_.back();
        if (!paused_ && !found_) continue;
        std::string before = held_.substr(0, at);
        held_.erase(0, last + 1);
        if (found_) behind_ = std::exchange(held_, {});
        return before;
    }
    // Only the longest end that a mark may begin with is kept back.
    std::size_t keep = std::min(held_.size(), stem.size());
    while (keep != 0 && !stem.starts_with(std::string_view(held_).substr(held_.size() - keep))) --keep;
    std::string sure = held_.substr(0, held_.size() - keep);
    held_.erase(0, sure.size());
    return sure;
}

}  // namespace cmcp
