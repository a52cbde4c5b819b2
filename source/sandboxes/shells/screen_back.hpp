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
        note_modes(bytes);
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

    /// Programs that edit lines or texts ask for pastes between marks.
    bool takes_pastes() const { return takes_pastes_; }

    /// Editors and pagers have the other screen, and take letters for commands.
    bool whole_screen() const { return whole_screen_; }
    std::uint64_t pastes_asked() const { return pastes_asked_; }  ///< how often, as a shell does with each prompt

private:
    // A switch may come in pieces.
    void note_modes(std::string_view bytes)
    {
        constexpr std::string_view asks_for_pastes = "\x1b[?2004h";
        constexpr std::size_t longest_switch = asks_for_pastes.size();
        recent_.append(bytes);
        note_mode(application_keys_, "\x1b[?1h", "\x1b[?1l");
        note_mode(takes_pastes_, asks_for_pastes, "\x1b[?2004l");
        note_mode(whole_screen_, "\x1b[?1049h", "\x1b[?1049l");
        for (auto at = recent_.find(asks_for_pastes); at != std::string::npos;
             at = recent_.find(asks_for_pastes, at + 1))
            ++pastes_asked_;
        if (recent_.size() >= longest_switch) recent_.erase(0, recent_.size() - longest_switch + 1);
    }

    void note_mode(bool& mode, std::string_view on, std::string_view off) const
    {
        const auto last_on = recent_.rfind(on), last_off = recent_.rfind(off);
        if (last_on != std::string::npos && (last_off == std::string::npos || last_on > last_off))
            mode = true;
        else if (last_off != std::string::npos)
            mode = false;
    }

    std::size_t most_;
    std::string kept_;
    std::uint64_t end_ = 0;
    std::string recent_;
    bool application_keys_ = false;
    bool takes_pastes_ = false;
    bool whole_screen_ = false;
    std::uint64_t pastes_asked_ = 0;
};

}  // namespace cmcp
