#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cmcp {

/// Pieces of work that wait, each for a principal. The next piece is of the principal that was charged least; the
/// pieces of one principal keep their order. A principal that comes back has no advantage from its absence.
template <class Work>
class fair_queue {
public:
    using duration = std::chrono::steady_clock::duration;

    struct piece {
        std::string principal;
        bool is_long = false;
        Work work;
    };

    void put(piece added)
    {
        line& own = lines_[added.principal];
        own.charged = std::max(own.charged, reached_);
        auto& pieces = added.is_long ? own.long_pieces : own.short_pieces;
        pieces.emplace_back(++count_, std::move(added));
    }

    /// Nothing: there is none, or only long ones and those are not wanted.
    std::optional<piece> take(bool long_ones_too)
    {
        auto least = lines_.end();
        for (auto each = lines_.begin(); each != lines_.end(); ++each)
            if (each->second.first(long_ones_too) != nullptr &&
                (least == lines_.end() || each->second.charged < least->second.charged))
                least = each;
        if (least == lines_.end()) return std::nullopt;
        reached_ = std::max(reached_, least->second.charged);
        auto* pieces = least->second.first(long_ones_too);
        piece next = std::move(pieces->front().second);
        pieces->pop_front();
        ++least->second.begun;
        return next;
    }

    /// A piece that was taken has used so much time. Must follow each take().
    void charge(const std::string& principal, duration used)
    {
        line& own = lines_[principal];
        own.charged += used;
        --own.begun;
        forget_idle();
    }

private:
    using numbered = std::deque<std::pair<std::uint64_t, piece>>;

    struct line {
        numbered short_pieces;
        numbered long_pieces;
        duration charged{};
        std::size_t begun = 0;

        bool idle() const { return begun == 0 && short_pieces.empty() && long_pieces.empty(); }

        // The pieces whose first one is next; null: there is none.
        numbered* first(bool long_ones_too)
        {
            const bool has_long = long_ones_too && !long_pieces.empty();
            if (short_pieces.empty()) return has_long ? &long_pieces : nullptr;
            return has_long && long_pieces.front().first < short_pieces.front().first ? &long_pieces : &short_pieces;
        }
    };

    // Charges that all others have reached say nothing any more, and none do where nobody waits.
    void forget_idle()
    {
        const bool all = std::all_of(lines_.begin(), lines_.end(), [](const auto& each) { return each.second.idle(); });
        std::erase_if(lines_,
                      [&](const auto& each) { return all || (each.second.idle() && each.second.charged <= reached_); });
        if (all) reached_ = {};
    }

    std::map<std::string, line> lines_;
    duration reached_{};  // the charge of the line that was served last
    std::uint64_t count_ = 0;
};

}  // namespace cmcp
