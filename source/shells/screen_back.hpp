#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp {

/// The latest bytes of a terminal's output, found by their place in all of it. Earlier bytes fall off.
class screen_back {
public:
    explicit screen_back(std::size_t most) : most_(most) {}

    void add(std::string_view bytes)
    {
        kept_.append(bytes);
        end_ += bytes.size();
        note_mode(bytes);
        if (kept_.size() > 2 * most_) kept_.erase(0, kept_.size() - most_);
    }

    std::uint64_t begin() const { return end_ - std::min(kept_.size(), most_); }
    std::uint64_t end() const { return end_; }

    /// From `place` on, or from begin() on where that is later. Until the next add().
    std::string_view from(std::uint64_t place) const
    {
        const auto length = static_cast<std::size_t>(end_ - std::clamp(place, begin(), end_));
        return std::string_view(kept_).substr(kept_.size() - length);
    }

    /// Programs of the whole screen switch to it for the keys that move.
    bool application_keys() const { return application_keys_; }

private:
    // The switch may come in pieces.
    void note_mode(std::string_view bytes)
    {
        const std::string_view on = "\x1b[?1h", off = "\x1b[?1l";
        recent_.append(bytes);
        const auto last_on = recent_.rfind(on), last_off = recent_.rfind(off);
        if (last_on != std::string::npos && (last_off == std::string::npos || last_on > last_off))
            application_keys_ = true;
        else if (last_off != std::string::npos)
            application_keys_ = false;
        if (recent_.size() >= on.size()) recent_.erase(0, recent_.size() - on.size() + 1);
    }

    std::size_t most_;
    std::string kept_;
    std::uint64_t end_ = 0;
    std::string recent_;
    bool application_keys_ = false;
};

}  // namespace cmcp
