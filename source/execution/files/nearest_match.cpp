#include "files/text_edits.hpp"
#include "text/find_text.hpp"
#include "text/utf8_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <bitset>
#include <limits>
#include <unordered_map>

namespace cmcp {

namespace {

constexpr std::size_t longest_shown = 160;
constexpr std::size_t most_compared = 1 << 20;  // bytes: a sentence is not worth more

using lines = std::vector<std::string_view>;

std::string_view without_return(std::string_view line)
{
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

// Runs of white space are one space, and none at the ends.
std::string plain(std::string_view line)
{
    std::string text;
    for (const char c : line) {
        const bool space = c == ' ' || c == '\t' || c == '\r';
        if (!space) text += c;
        if (space && !text.empty() && text.back() != ' ') text += ' ';
    }
    if (text.ends_with(' ')) text.pop_back();
    return text;
}

// The backquotes show white space at the ends.
std::string shown(std::string_view line)
{
    const auto whole = replace_invalid_utf8(without_return(line));
    const auto part = utf8_prefix(whole, longest_shown);
    return "`" + std::string(part) + (part.size() < whole.size() ? "…`" : "`");
}

std::vector<std::string> plain_lines(const lines& all)
{
    std::vector<std::string> result;
    for (const auto line : all) result.push_back(plain(line));
    return result;
}

struct run_of_lines {
    std::size_t begin = 0;   // from 0
    std::size_t length = 0;  // lines that are the same
};

// For each position of `text` how many of its elements from there on are those that `wanted` begins with (Gusfield's Z
// algorithm, which takes linear time).
std::vector<std::size_t> same_beginnings(const std::vector<std::size_t>& text, const std::vector<std::size_t>& wanted)
{
    std::vector<std::size_t> all(wanted);
    all.push_back(std::numeric_limits<std::size_t>::max());  // the number of no line
    all.insert(all.end(), text.begin(), text.end());
    std::vector<std::size_t> same(all.size(), 0);
    std::size_t begin = 0, end = 0;  // of the known part that reaches furthest
    for (std::size_t i = 1; i < all.size(); ++i) {
        if (i < end) same[i] = std::min(end - i, same[i - begin]);
        while (i + same[i] < all.size() && all[same[i]] == all[i + same[i]]) ++same[i];
        if (i + same[i] > end) begin = i, end = i + same[i];
    }
    same.erase(same.begin(), same.begin() + static_cast<std::ptrdiff_t>(wanted.size() + 1));
    return same;
}

// The first and last line that are wanted may be parts of lines.
template <class Line>
run_of_lines longest_run(const std::vector<Line>& text, const std::vector<Line>& wanted)
{
    run_of_lines best;
    if (wanted.size() == 1) {
        const auto holds = [&](const Line& line) { return find_text(line, wanted[0]) != std::string_view::npos; };
        const auto first = std::ranges::find_if(text, holds);
        if (first != text.end()) best = {static_cast<std::size_t>(first - text.begin()), 1};
        return best;
    }
    std::unordered_map<std::string_view, std::size_t> numbers;
    const auto numbered = [&numbers](auto begin, auto end) {
        std::vector<std::size_t> all;
        for (; begin != end; ++begin) all.push_back(numbers.emplace(*begin, numbers.size()).first->second);
        return all;
    };
    const auto middle = numbered(wanted.begin() + 1, wanted.end() - 1);
    const auto same = same_beginnings(numbered(text.begin(), text.end()), middle);
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
        if (!std::string_view(text[begin]).ends_with(wanted.front())) continue;
        std::size_t length = 1;
        if (begin + 1 < text.size()) length += same[begin + 1];
        const auto last = begin + length;
        if (length == middle.size() + 1 && last < text.size() &&
            std::string_view(text[last]).starts_with(wanted.back()))
            ++length;
        if (length > best.length) best = {begin, length};
    }
    return best;
}

using pairs_of_letters = std::bitset<4096>;

pairs_of_letters pairs_in(std::string_view line)
{
    pairs_of_letters pairs;
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
        const auto first = static_cast<unsigned char>(line[i]), second = static_cast<unsigned char>(line[i + 1]);
        pairs.set((first * 61u + second) % pairs.size());
    }
    return pairs;
}

// The pairs of letters that two lines have in common, as a part of all that they have.
double likeness(const pairs_of_letters& a, const pairs_of_letters& b)
{
    const auto all = a.count() + b.count();
    return all == 0 ? 0 : 2.0 * static_cast<double>((a & b).count()) / static_cast<double>(all);
}

std::string most_alike(const lines& text, const std::vector<std::string>& wanted)
{
    const auto telling = std::ranges::max_element(wanted, {}, &std::string::size);
    const auto pairs = pairs_in(*telling);
    double best = 0.3;  // less is chance
    std::size_t nearest = text.size();
    for (std::size_t i = 0; i < text.size(); ++i) {
        const double alike = likeness(pairs_in(plain(text[i])), pairs);
        if (alike <= best) continue;
        best = alike;
        nearest = i;
    }
    if (nearest == text.size()) return "No line is like it; read the file first.";
    return "The nearest line is " + std::to_string(nearest + 1) + ": " + shown(text[nearest]) + ".";
}

std::string where_it_ends(const lines& text, const lines& wanted, const run_of_lines& run)
{
    const auto line = run.begin + run.length;
    const std::string begin = "It begins as line " + std::to_string(run.begin + 1) + " does, but ";
    if (line >= text.size()) return begin + "the file ends with line " + std::to_string(text.size()) + ".";
    return begin + "line " + std::to_string(line + 1) + " is " + shown(text[line]) + " and not " +
           shown(wanted[run.length]) + ".";
}

bool differ_in_returns(std::string_view text, std::string_view wanted)
{
    std::string a(text), b(wanted);
    std::erase(a, '\r');
    std::erase(b, '\r');
    return find_text(a, b) != std::string_view::npos;
}

}  // namespace

std::string nearest_match(std::string_view text, std::string_view wanted)
{
    if (text.empty()) return "The file is empty.";
    text = text.substr(0, most_compared);
    wanted = wanted.substr(0, most_compared);
    const auto text_lines = split(text, '\n'), wanted_lines = split(wanted, '\n');
    const auto plain_text = plain_lines(text_lines), plain_wanted = plain_lines(wanted_lines);
    const auto loose = longest_run(plain_text, plain_wanted);
    const std::string line = "line " + std::to_string(loose.begin + 1);
    if (differ_in_returns(text, wanted))
        return "It differs in line endings only, at " + line + ": the file has both CRLF and LF.";
    if (loose.length == wanted_lines.size() && !plain(wanted).empty())
        return "It differs in white space only, at " + line + ": " + shown(text_lines[loose.begin]) + ".";
    const auto exact = longest_run(text_lines, wanted_lines);
    if (exact.length > 0 && !plain(wanted_lines.front()).empty()) return where_it_ends(text_lines, wanted_lines, exact);
    return most_alike(text_lines, plain_wanted);
}

}  // namespace cmcp
