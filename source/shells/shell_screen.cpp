#include "shells/shell_screen.hpp"

#include <algorithm>

namespace cmcp {

shell_picture shell_screen::draw(std::uint64_t place, std::string_view bytes, const std::vector<size_change>& sizes)
{
    const std::lock_guard alone(one_at_a_time_);
    for (const size_change& each : sizes) {
        follow(place, bytes, each.place);
        screen_.resize(each.size.columns, each.size.rows);
    }
    follow(place, bytes, place + bytes.size());
    return {screen_.text(), screen_.cursor_row() + 1, screen_.cursor_column() + 1};
}

void shell_screen::follow(std::uint64_t place, std::string_view bytes, std::uint64_t until)
{
    const std::uint64_t from = std::max(place, drawn_);
    if (until <= from) return;
    screen_.write(bytes.substr(from - place, until - from));
    drawn_ = until;
}

}  // namespace cmcp
