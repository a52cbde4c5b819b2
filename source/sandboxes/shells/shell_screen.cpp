#include "shells/shell_screen.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t most_at_once = 2048;  // bytes between two looks at the clock: each may cost a microsecond

}  // namespace

sliced_work<shell_picture> shell_screen::draw(std::shared_ptr<shell_screen> screen, std::uint64_t place,
                                              std::string bytes, std::vector<size_change> sizes)
{
    struct output {
        std::uint64_t place;
        std::string bytes;
        std::vector<size_change> sizes;
    };
    const auto drawn = std::make_shared<output>(output{place, std::move(bytes), std::move(sizes)});
    return [screen = std::move(screen), drawn](slice_end until) -> std::optional<shell_picture> {
        const std::lock_guard alone(screen->one_at_a_time_);
        if (!screen->follow(drawn->place, drawn->bytes, drawn->sizes, until)) return std::nullopt;
        const auto& of = screen->screen_;
        return shell_picture{of.text(), of.cursor_row() + 1, of.cursor_column() + 1};
    };
}

bool shell_screen::follow(std::uint64_t place, std::string_view bytes, const std::vector<size_change>& sizes,
                          slice_end until)
{
    for (const size_change& each : sizes) {
        if (each.number <= sized_) continue;
        if (!follow(place, bytes, each.place, until)) return false;
        screen_.resize(each.size.columns, each.size.rows);
        sized_ = each.number;
    }
    return follow(place, bytes, place + bytes.size(), until);
}

// False: the time is over before the end.
bool shell_screen::follow(std::uint64_t place, std::string_view bytes, std::uint64_t end, slice_end until)
{
    drawn_ = std::max(drawn_, std::min(place, end));
    while (drawn_ < end) {
        const auto piece = bytes.substr(drawn_ - place, std::min<std::uint64_t>(most_at_once, end - drawn_));
        screen_.write(piece);
        drawn_ += piece.size();
        if (drawn_ < end && std::chrono::steady_clock::now() >= until) return false;
    }
    return true;
}

}  // namespace cmcp
