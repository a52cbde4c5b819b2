#include "files/glob.hpp"

#include "files/file_error.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::size_t most_tokens = 200;

/// Bytes that are not UTF-8 become characters of their own, so that any name can be matched.
std::u32string characters(std::string_view text)
{
    std::u32string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        const auto [fits, needs] = first_character(rest);
        const bool is_text = fits == needs;
        result += is_text ? decode_character(rest) : char32_t{0x110000} + static_cast<unsigned char>(rest[0]);
        at += is_text ? needs : 1;
    }
    return result;
}

}  // namespace

glob::glob(std::string_view pattern)
{
    if (pattern.find('\0') != std::string_view::npos) throw file_error("pattern holds a NUL character; leave it out.");
    const std::u32string text = characters(pattern);
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = text[at];
        if (c == U'*')
            at = add_stars(text, at);
        else if (c == U'[')
            at = add_set(text, at);
        else {
            if (c == U'\\' && at + 1 < text.size()) ++at;
            tokens_.push_back(c == U'?' ? token{kind::any_one} : token{kind::literal, text[at]});
            ++at;
        }
        deep_ = deep_ || c == U'/';
        if (tokens_.size() > most_tokens)
            throw file_error("pattern is too long; at most " + std::to_string(most_tokens) + " signs are allowed.");
    }
}

std::size_t glob::add_stars(const std::u32string& pattern, std::size_t at)
{
    const std::size_t end = std::min(pattern.find_first_not_of(U'*', at), pattern.size());
    const bool deep = end - at > 1;
    deep_ = deep_ || deep;
    const bool whole_part = (at == 0 || pattern[at - 1] == U'/') && end < pattern.size() && pattern[end] == U'/';
    if (deep && whole_part) tokens_.push_back({kind::maybe_skip});
    tokens_.push_back({deep ? kind::any_depth : kind::any_run});
    return end;
}

std::size_t glob::add_set(const std::u32string& pattern, std::size_t at)
{
    token set{kind::set};
    std::size_t i = at + 1;
    if (i < pattern.size() && (pattern[i] == U'!' || pattern[i] == U'^')) {
        set.negated = true;
        ++i;
    }
    const std::size_t begin = i;
    const std::size_t close = pattern.find(U']', begin + 1);
    if (close == std::u32string::npos) {  // the bracket stands for itself
        tokens_.push_back({kind::literal, U'['});
        return at + 1;
    }
    while (i < close) {
        const bool range = i + 2 < close && pattern[i + 1] == U'-';
        set.ranges.emplace_back(pattern[i], pattern[range ? i + 2 : i]);
        i += range ? 3 : 1;
    }
    tokens_.push_back(std::move(set));
    return close + 1;
}

bool glob::fits(const token& one, char32_t c)
{
    if (one.what == kind::literal) return one.character == c;
    if (one.what == kind::any_depth) return true;
    if (c == U'/' || one.what == kind::maybe_skip) return false;
    if (one.what != kind::set) return true;
    const auto holds = [c](const auto& range) { return c >= range.first && c <= range.second; };
    return std::any_of(one.ranges.begin(), one.ranges.end(), holds) != one.negated;
}

/// Takes the steps that need no character. They only go forward, so one pass is enough.
void glob::spread(std::vector<char>& active) const
{
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
        if (active[i] == 0) continue;
        const kind what = tokens_[i].what;
        if (what == kind::any_run || what == kind::any_depth || what == kind::maybe_skip) active[i + 1] = 1;
        if (what == kind::maybe_skip) active[i + 3] = 1;  // over `**` and its slash
    }
}

// All possible places in the pattern are followed at once, so that many stars need no backtracking.
bool glob::matches(std::string_view text) const
{
    std::vector<char> active(tokens_.size() + 1, 0);
    std::vector<char> next(active.size(), 0);
    active[0] = 1;
    spread(active);
    for (char32_t c : characters(text)) {
        std::fill(next.begin(), next.end(), 0);
        bool alive = false;
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            if (active[i] == 0 || !fits(tokens_[i], c)) continue;
            const kind what = tokens_[i].what;
            next[what == kind::any_run || what == kind::any_depth ? i : i + 1] = 1;
            alive = true;
        }
        if (!alive) return false;
        active.swap(next);
        spread(active);
    }
    return active.back() != 0;
}

}  // namespace cmcp
