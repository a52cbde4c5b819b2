#include "files/unified_diff.hpp"

#include "text/number.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cmcp {

namespace {

constexpr std::size_t around = 3;
constexpr std::size_t longest_line = 400;   // bytes of a line
constexpr std::size_t before_change = 100;  // of them, in front of what differs
constexpr std::ptrdiff_t most_changes = 1000;

using side = std::vector<std::string_view>;  // lines with their feeds

side lines_of(std::string_view text)
{
    side lines;
    while (!text.empty()) {
        const auto feed = text.find('\n');
        const auto length = feed == std::string_view::npos ? text.size() : feed + 1;
        lines.push_back(text.substr(0, length));
        text.remove_prefix(length);
    }
    return lines;
}

// The lines of both texts by number, the same for the same text, so that each is compared once and not in each round.
using numbered_lines = std::vector<std::size_t>;

numbered_lines numbers_of(const side& lines, std::unordered_map<std::string_view, std::size_t>& known)
{
    numbered_lines numbers;
    numbers.reserve(lines.size());
    for (const auto line : lines) numbers.push_back(known.emplace(line, known.size()).first->second);
    return numbers;
}

// A line of both texts, of the first or of the second.
enum class step : char { keep = ' ', drop = '-', add = '+' };
using script = std::vector<step>;

using reach = std::vector<std::ptrdiff_t>;  // the furthest line of `before` on each diagonal

// Myers, "An O(ND) Difference Algorithm and Its Variations": the greedy forward search, with the reach of each round.
class shortest_script {
public:
    shortest_script(const numbered_lines& before, const numbered_lines& after) : before_(before), after_(after) {}

    // Empty where more than `most_changes` are needed.
    script find()
    {
        const auto longest = std::min(size(before_) + size(after_), most_changes);
        reach furthest(static_cast<std::size_t>(2 * longest + 3), 0);
        middle_ = longest + 1;
        for (std::ptrdiff_t round = 0; round <= longest; ++round) {
            rounds_.push_back(furthest);
            if (advance(furthest, round)) return walk_back(round);
        }
        return {};
    }

private:
    static std::ptrdiff_t size(const numbered_lines& lines) { return static_cast<std::ptrdiff_t>(lines.size()); }
    std::ptrdiff_t& at(reach& of, std::ptrdiff_t diagonal) const
    {
        return of[static_cast<std::size_t>(middle_ + diagonal)];
    }

    bool goes_down(reach& of, std::ptrdiff_t diagonal, std::ptrdiff_t round) const
    {
        return diagonal == -round || (diagonal != round && at(of, diagonal - 1) < at(of, diagonal + 1));
    }

    bool advance(reach& furthest, std::ptrdiff_t round)
    {
        for (auto diagonal = -round; diagonal <= round; diagonal += 2) {
            auto x = goes_down(furthest, diagonal, round) ? at(furthest, diagonal + 1) : at(furthest, diagonal - 1) + 1;
            auto y = x - diagonal;
            while (x < size(before_) && y < size(after_) && same(x, y)) ++x, ++y;
            at(furthest, diagonal) = x;
            if (x >= size(before_) && y >= size(after_)) return true;
        }
        return false;
    }

    bool same(std::ptrdiff_t x, std::ptrdiff_t y) const
    {
        return before_[static_cast<std::size_t>(x)] == after_[static_cast<std::size_t>(y)];
    }

    script walk_back(std::ptrdiff_t round)
    {
        script steps;
        auto x = size(before_), y = size(after_);
        for (; round > 0; --round) {
            auto& known = rounds_[static_cast<std::size_t>(round)];
            const auto diagonal = x - y;
            const bool down = goes_down(known, diagonal, round);
            const auto from = down ? at(known, diagonal + 1) : at(known, diagonal - 1);
            const auto begin = down ? from : from + 1;
            for (; x > begin; --x) steps.push_back(step::keep);
            steps.push_back(down ? step::add : step::drop);
            x = from;
            y = from - (down ? diagonal + 1 : diagonal - 1);
        }
        for (; x > 0; --x) steps.push_back(step::keep);
        std::reverse(steps.begin(), steps.end());
        return steps;
    }

    const numbered_lines& before_;
    const numbered_lines& after_;
    std::ptrdiff_t middle_ = 0;
    std::vector<reach> rounds_;
};

script replace_all(const numbered_lines& before, const numbered_lines& after)
{
    script steps(before.size(), step::drop);
    steps.insert(steps.end(), after.size(), step::add);
    return steps;
}

// The lines that both texts begin and end with need no search.
script difference(const side& old_lines, const side& new_lines)
{
    std::unordered_map<std::string_view, std::size_t> known;
    const auto before = numbers_of(old_lines, known), after = numbers_of(new_lines, known);
    const auto shorter = std::min(before.size(), after.size());
    std::size_t first = 0, last = 0;
    while (first < shorter && before[first] == after[first]) ++first;
    while (last < shorter - first && before[before.size() - 1 - last] == after[after.size() - 1 - last]) ++last;
    const auto middle_of = [&](const numbered_lines& lines) {
        return numbered_lines(lines.begin() + static_cast<std::ptrdiff_t>(first),
                              lines.end() - static_cast<std::ptrdiff_t>(last));
    };
    const auto left = middle_of(before), right = middle_of(after);
    auto middle = shortest_script(left, right).find();
    if (middle.empty()) middle = replace_all(left, right);
    script steps(first, step::keep);
    steps.insert(steps.end(), middle.begin(), middle.end());
    steps.insert(steps.end(), last, step::keep);
    return steps;
}

struct hunk {
    std::size_t begin, end;  // among the steps
};

std::vector<hunk> hunks_of(const script& steps)
{
    std::vector<hunk> hunks;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i] == step::keep) continue;
        const auto begin = i - std::min(i, around), end = std::min(steps.size(), i + 1 + around);
        if (!hunks.empty() && begin <= hunks.back().end)
            hunks.back().end = end;
        else
            hunks.push_back({begin, end});
    }
    return hunks;
}

// A longer line is shown around `at`, where it differs from the old or the new line.
std::string shown_line(std::string_view line, std::size_t at)
{
    if (line.size() <= longest_line) return std::string(line);
    const auto begin =
        line.size() - utf8_suffix(line, line.size() - (at > before_change ? at - before_change : 0)).size();
    const auto part = utf8_prefix(line.substr(begin), longest_line);
    return (begin == 0 ? "" : "… ") + std::string(part) + (begin + part.size() == line.size() ? "" : " …") + " (" +
           std::to_string(line.size()) + " bytes)";
}

std::size_t first_difference(std::string_view a, std::string_view b)
{
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

class diff_writer {
public:
    using line_maker = std::string (*)(std::string_view line);

    diff_writer(const side& before, const side& after, line_maker shown) : before_(before), after_(after), shown_(shown)
    {
    }

    void write(const script& steps, const hunk& part)
    {
        for (; at_ < part.begin; ++at_) pass(steps[at_]);
        const auto old_begin = old_, new_begin = new_;
        std::string body;
        for (; at_ < part.end; ++at_) {
            if (steps[at_] == step::keep)
                changed_ = {};
            else if (changed_.is_empty())
                changed_ = change_from(steps);
            body += line(steps[at_]);
            pass(steps[at_]);
        }
        text += "@@ -" + range(old_begin, old_) + " +" + range(new_begin, new_) + " @@\n" + body;
    }

    std::string text;

private:
    void pass(step what)
    {
        if (what != step::add) ++old_;
        if (what != step::drop) ++new_;
    }

    // Lines of both texts between lines that stay; the n-th of one is taken for the n-th of the other.
    struct change {
        std::size_t old_begin = 0, old_end = 0, new_begin = 0, new_end = 0;
        bool is_empty() const { return old_begin == old_end && new_begin == new_end; }
    };

    change change_from(const script& steps) const
    {
        change all{old_, old_, new_, new_};
        for (auto i = at_; i < steps.size() && steps[i] != step::keep; ++i)
            ++(steps[i] == step::drop ? all.old_end : all.new_end);
        return all;
    }

    std::size_t differs_at(step what) const
    {
        if (what == step::keep) return 0;
        const bool is_old = what == step::drop;
        const auto number = is_old ? old_ - changed_.old_begin : new_ - changed_.new_begin;
        const auto other = number + (is_old ? changed_.new_begin : changed_.old_begin);
        if (other >= (is_old ? changed_.new_end : changed_.old_end)) return 0;
        return is_old ? first_difference(before_[old_], after_[other]) : first_difference(after_[new_], before_[other]);
    }

    std::string line(step what) const
    {
        auto content = what == step::add ? after_[new_] : before_[old_];
        const bool feed = content.ends_with('\n');
        if (feed) content.remove_suffix(1);
        if (content.ends_with('\r')) content.remove_suffix(1);
        const auto at = differs_at(what);
        std::string shown = static_cast<char>(what) + shown_line(shown_ ? shown_(content) : content, at) + "\n";
        if (!feed) shown += "\\ No newline at end of file\n";
        return shown;
    }

    static std::string range(std::size_t begin, std::size_t end)
    {
        const auto count = end - begin;
        return std::to_string(count == 0 ? begin : begin + 1) + (count == 1 ? "" : "," + std::to_string(count));
    }

    const side& before_;
    const side& after_;
    line_maker shown_;
    std::size_t at_ = 0, old_ = 0, new_ = 0;
    change changed_;
};

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view path,
                         std::string (*shown)(std::string_view line))
{
    if (before == after) return {};
    const auto old_lines = lines_of(before), new_lines = lines_of(after);
    const auto steps = difference(old_lines, new_lines);
    diff_writer writer(old_lines, new_lines, shown);
    writer.text.append("--- ").append(path).append("\n+++ ").append(path).append("\n");
    for (const auto& part : hunks_of(steps)) writer.write(steps, part);
    return std::move(writer.text);
}

std::string beginning_of_diff(std::string diff, std::size_t most)
{
    if (diff.size() <= most) return diff;
    const auto end = diff.rfind('\n', most) + 1;
    const auto left_out = lines_of(std::string_view(diff).substr(end)).size();
    diff.resize(end);
    std::uint64_t next = 0;  // line of the changed file; 0: no part has begun
    for (auto line : lines_of(diff)) {
        if (line.starts_with("@@ -")) {
            line.remove_prefix(line.find('+') + 1);
            next = read_number<std::uint64_t>(line.substr(0, line.find_first_of(", "))).value_or(0);
        } else if (next != 0 && !line.starts_with('-') && !line.starts_with('\\')) {
            ++next;
        }
    }
    return diff + "… " + std::to_string(left_out) + " more lines; file_read with line " +
           std::to_string(std::max<std::uint64_t>(1, next)) + " shows the file from there on.\n";
}

}  // namespace cmcp
