#include "egress/value_automaton.hpp"

#include "text/ascii.hpp"

#include <utility>

namespace cmcp {

value_automaton::value_automaton(const std::vector<std::string>& values)
{
    sort_into_classes(values);
    next_.assign(classes_, none);
    first_end_.assign(1, none);
    depth_.assign(1, 0);
    for (std::uint32_t number = 0; number < values.size(); ++number) add(values[number], number);
    close();
}

void value_automaton::sort_into_classes(const std::vector<std::string>& values)
{
    const auto folded = [](char c) { return static_cast<unsigned char>(c == '+' ? ' ' : to_lower(c)); };
    for (const auto& value : values)
        for (const char c : value)
            if (class_of_[folded(c)] == 0) class_of_[folded(c)] = static_cast<std::uint8_t>(classes_++);
    for (std::size_t byte = 0; byte < class_of_.size(); ++byte)
        class_of_[byte] = class_of_[folded(static_cast<char>(byte))];
}

// The trie of the values; a row that is `none` is not there yet.
void value_automaton::add(std::string_view text, std::uint32_t number)
{
    std::uint32_t row = 0;
    for (const char c : text) {
        const auto step = row + class_of_[static_cast<unsigned char>(c)];
        if (next_[step] == none) {
            next_[step] = static_cast<std::uint32_t>(next_.size());
            next_.resize(next_.size() + classes_, none);
            first_end_.push_back(none);
            depth_.push_back(depth_[row / classes_] + 1);
        }
        row = next_[step];
    }
    auto& end = first_end_[row / classes_];
    if (end != none) return;  // another secret has this value
    end = static_cast<std::uint32_t>(ends_.size());
    ends_.push_back({number, none});
}

// States by their depth: where a state has no way on, it goes on as the longest end of its text that begins a value.
void value_automaton::close()
{
    std::vector<std::uint32_t> fallback(first_end_.size(), 0), rows{0};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto row = rows[i], back = fallback[row / classes_];
        for (std::uint32_t kind = 0; kind < classes_; ++kind) {
            const auto otherwise = row == 0 ? 0 : next_[back + kind];
            auto& to = next_[row + kind];
            if (to == none) {
                to = otherwise;
                continue;
            }
            rows.push_back(to);
            fallback[to / classes_] = otherwise;
        }
    }
    for (const auto row : rows) {
        auto& own = first_end_[row / classes_];
        const auto shorter = first_end_[fallback[row / classes_] / classes_];
        if (own == none)
            own = shorter;
        else if (row != 0)
            ends_[own].next = shorter;
    }
    sort(rows);
}

// The rows in which values end go last, so that a comparison tells them.
void value_automaton::sort(const std::vector<std::uint32_t>& rows)
{
    std::vector<std::uint32_t> order, moved_to(first_end_.size());
    for (const bool is_final : {false, true}) {
        if (is_final) first_final_ = static_cast<std::uint32_t>(order.size()) * classes_;
        for (const auto row : rows) {
            if ((first_end_[row / classes_] != none) != is_final) continue;
            moved_to[row / classes_] = static_cast<std::uint32_t>(order.size()) * classes_;
            order.push_back(row);
        }
    }
    std::vector<std::uint32_t> next, first_end, depth;
    for (const auto row : order) {
        first_end.push_back(first_end_[row / classes_]);
        depth.push_back(depth_[row / classes_]);
        for (std::uint32_t kind = 0; kind < classes_; ++kind) next.push_back(moved_to[next_[row + kind] / classes_]);
    }
    next_ = std::move(next);
    first_end_ = std::move(first_end);
    depth_ = std::move(depth);
}

}  // namespace cmcp
