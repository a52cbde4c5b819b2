#include "files/glob.hpp"

#include "files/file_error.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace cmcp {

namespace {

constexpr std::size_t most_tokens = 200;
constexpr std::size_t most_signs = 2000;  // of all alternatives, sets with what they hold
constexpr std::size_t most_alternatives = 64;
constexpr std::size_t longest_pattern_read = 32'768;  // bytes, with all words in braces
constexpr std::ptrdiff_t most_braces = 200;

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

// The commas of a pair of braces, and where it ends; nothing where the brace stands for itself.
struct brace_pair {
    std::vector<std::size_t> commas;
    std::size_t end = 0;
};

std::optional<brace_pair> pair_at(std::string_view pattern, std::size_t open)
{
    brace_pair pair;
    std::size_t depth = 0;
    for (std::size_t at = open; at < pattern.size(); ++at) {
        const char c = pattern[at];
        if (c == '\\') ++at;
        if (c == '{') ++depth;
        if (c == ',' && depth == 1) pair.commas.push_back(at);
        if (c != '}' || --depth != 0) continue;
        pair.end = at;
        return pair.commas.empty() ? std::nullopt : std::optional(std::move(pair));
    }
    return std::nullopt;
}

// "*.{a,b}" is "*.a" and "*.b".
void expand(const std::string& pattern, std::size_t from, std::vector<std::string>& into)
{
    std::optional<brace_pair> pair;
    for (; from < pattern.size(); ++from) {
        if (pattern[from] == '\\')
            ++from;
        else if (pattern[from] == '{' && (pair = pair_at(pattern, from)))
            break;
    }
    if (into.size() >= most_alternatives)
        throw file_error("pattern has too many words in braces; at most " + std::to_string(most_alternatives) +
                         " combinations are allowed.");
    if (!pair) return into.push_back(pattern);
    auto begin = from + 1;
    pair->commas.push_back(pair->end);
    for (const auto comma : pair->commas) {
        expand(pattern.substr(0, from) + pattern.substr(begin, comma - begin) + pattern.substr(pair->end + 1), from,
               into);
        begin = comma + 1;
    }
}

using ranges = std::vector<std::pair<char32_t, char32_t>>;

// [:digit:] and the like within a set; empty: no class has this name.
ranges ranges_of_class(std::u32string_view name)
{
    static const std::array<std::pair<std::u32string_view, ranges>, 8> classes{
        {{U"alpha", {{U'a', U'z'}, {U'A', U'Z'}}},
         {U"digit", {{U'0', U'9'}}},
         {U"alnum", {{U'a', U'z'}, {U'A', U'Z'}, {U'0', U'9'}}},
         {U"lower", {{U'a', U'z'}}},
         {U"upper", {{U'A', U'Z'}}},
         {U"xdigit", {{U'0', U'9'}, {U'a', U'f'}, {U'A', U'F'}}},
         {U"space", {{U'\t', U'\r'}, {U' ', U' '}}},
         {U"punct", {{U'!', U'/'}, {U':', U'@'}, {U'[', U'`'}, {U'{', U'~'}}}}};
    const auto known = std::ranges::find(classes, name, &std::pair<std::u32string_view, ranges>::first);
    return known == classes.end() ? ranges() : known->second;
}

}  // namespace

glob::glob(std::string_view pattern)
{
    if (pattern.find('\0') != std::string_view::npos) throw file_error("pattern holds a NUL character; leave it out.");
    if (pattern.size() > longest_pattern_read)
        throw file_error("pattern is too long; at most " + std::to_string(longest_pattern_read) +
                         " bytes are allowed.");
    if (std::ranges::count(pattern, '{') > most_braces)
        throw file_error("pattern has too many braces; at most " + std::to_string(most_braces) + " are allowed.");
    negated_ = pattern.size() > 1 && pattern.front() == '!';
    if (negated_) pattern.remove_prefix(1);
    expand(std::string(pattern), 0, texts_);
    std::size_t signs = 0;
    for (const auto& text : texts_) {
        alternatives_.push_back(read(text));
        for (const auto& each : alternatives_.back().tokens) signs += 1 + each.ranges.size();
        if (signs > most_signs)
            throw file_error("pattern is too long; at most " + std::to_string(most_signs) +
                             " signs are allowed in all combinations of the words in braces.");
    }
}

bool glob::is_deep() const { return std::ranges::any_of(alternatives_, &alternative::deep); }

glob::alternative glob::read(std::string_view pattern)
{
    alternative into;
    while (pattern.starts_with("./") || (pattern.starts_with('/') && pattern.size() > 1)) {
        into.deep = true;
        pattern.remove_prefix(pattern.front() == '/' ? 1 : 2);
    }
    const std::u32string text =
        characters(pattern.size() > 1 && pattern.ends_with('/') ? std::string(pattern) + "**" : std::string(pattern));
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = text[at];
        if (c == U'*')
            at = add_stars(into, text, at);
        else if (c == U'[')
            at = add_set(into, text, at);
        else {
            if (c == U'\\' && at + 1 < text.size()) ++at;
            into.tokens.push_back(c == U'?' ? token{kind::any_one} : token{kind::literal, text[at]});
            ++at;
        }
        into.deep = into.deep || c == U'/';
        if (into.tokens.size() > most_tokens)
            throw file_error("pattern is too long; at most " + std::to_string(most_tokens) + " signs are allowed.");
    }
    prepare(into);
    return into;
}

std::size_t glob::add_stars(alternative& into, const std::u32string& pattern, std::size_t at)
{
    const std::size_t end = std::min(pattern.find_first_not_of(U'*', at), pattern.size());
    const bool deep = end - at > 1;
    into.deep = into.deep || deep;
    const bool whole_part = (at == 0 || pattern[at - 1] == U'/') && end < pattern.size() && pattern[end] == U'/';
    const auto& before = into.tokens;
    const bool again = before.size() >= 3 && before[before.size() - 3].what == kind::maybe_skip;
    if (deep && whole_part && again && before.back().character == U'/') return end + 1;  // `**/**/` is `**/`
    if (deep && whole_part) into.tokens.push_back({kind::maybe_skip});
    into.tokens.push_back({deep ? kind::any_depth : kind::any_run});
    return end;
}

std::size_t glob::add_set(alternative& into, const std::u32string& pattern, std::size_t at)
{
    token set{kind::set};
    std::size_t i = at + 1;
    if (i < pattern.size() && (pattern[i] == U'!' || pattern[i] == U'^')) {
        set.negated = true;
        ++i;
    }
    const std::size_t begin = i;
    for (; i < pattern.size() && (pattern[i] != U']' || i == begin);) {
        const auto end_of_class = pattern.compare(i, 2, U"[:") == 0 ? pattern.find(U":]", i + 2) : pattern.npos;
        if (end_of_class != pattern.npos) {
            for (const auto& range : ranges_of_class(std::u32string_view(pattern).substr(i + 2, end_of_class - i - 2)))
                set.ranges.push_back(range);
            i = end_of_class + 2;
            continue;
        }
        const bool range = i + 2 < pattern.size() && pattern[i + 1] == U'-' && pattern[i + 2] != U']';
        set.ranges.emplace_back(pattern[i], pattern[range ? i + 2 : i]);
        i += range ? 3 : 1;
    }
    if (i >= pattern.size()) {  // the bracket stands for itself
        into.tokens.push_back({kind::literal, U'['});
        return at + 1;
    }
    into.tokens.push_back(std::move(set));
    return i + 1;
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

glob::positions glob::positions::later(unsigned by) const
{
    positions moved;
    for (std::size_t i = 0; i < words_.size(); ++i) {
        moved.words_[i] = words_[i] << by;
        if (i > 0) moved.words_[i] |= words_[i - 1] >> (64 - by);
    }
    return moved;
}

glob::positions glob::positions::operator&(const positions& other) const
{
    positions both;
    for (std::size_t i = 0; i < words_.size(); ++i) both.words_[i] = words_[i] & other.words_[i];
    return both;
}

glob::positions glob::positions::operator|(const positions& other) const
{
    positions any;
    for (std::size_t i = 0; i < words_.size(); ++i) any.words_[i] = words_[i] | other.words_[i];
    return any;
}

void glob::prepare(alternative& one)
{
    const auto slash = std::size_t{U'/'};
    positions any, slashes;
    for (std::size_t i = 0; i < one.tokens.size(); ++i) {
        const kind what = one.tokens[i].what;
        (what == kind::any_run || what == kind::any_depth ? one.stars : one.others).add(i);
        if (what == kind::any_run || what == kind::any_depth || what == kind::maybe_skip) one.empty.add(i);
        if (what == kind::maybe_skip) one.skips.add(i);
        if (what == kind::set) {
            for (std::size_t c = 0; c < one.fitting.size(); ++c)
                if (fits(one.tokens[i], static_cast<char32_t>(c))) one.fitting[c].add(i);
        } else if (what == kind::any_depth) {
            any.add(i), slashes.add(i);
        } else if (what == kind::any_run || what == kind::any_one) {
            any.add(i);
        }
    }
    for (std::size_t c = 0; c < one.fitting.size(); ++c) one.fitting[c] = one.fitting[c] | (c == slash ? slashes : any);
    for (std::size_t i = 0; i < one.tokens.size(); ++i)
        if (one.tokens[i].what == kind::literal && one.tokens[i].character < one.fitting.size())
            one.fitting[one.tokens[i].character].add(i);
}

glob::positions glob::fitting(const alternative& one, char32_t c)
{
    if (c < one.fitting.size()) return one.fitting[c];
    positions all;
    for (std::size_t i = 0; i < one.tokens.size(); ++i)
        if (fits(one.tokens[i], c)) all.add(i);
    return all;
}

// Takes the steps that need no character. Few of them stand behind each other.
glob::positions glob::spread(const alternative& one, positions active)
{
    for (;;) {
        const auto more =
            active | (active & one.empty).later(1) | (active & one.skips).later(3);  // over `**` and its slash
        if (more == active) return active;
        active = more;
    }
}

// All possible positions in the pattern are followed at once, so that many stars need no backtracking.
bool glob::matches(const alternative& one, const std::u32string& text)
{
    positions active;
    active.add(0);
    active = spread(one, active);
    for (const char32_t c : text) {
        const auto passed = active & fitting(one, c);
        if (!passed.any()) return false;
        const auto stay = passed & one.stars;
        active = spread(one, stay | (passed & one.others).later(1));
    }
    return active.has(one.tokens.size());
}

bool glob::matches(std::string_view text) const
{
    const auto whole = characters(text);
    const auto fits = [&whole](const alternative& one) { return matches(one, whole); };
    return std::ranges::any_of(alternatives_, fits) != negated_;
}

bool glob::finds(std::string_view path) const
{
    const auto whole = characters(path), name = characters(path.substr(path.rfind('/') + 1));
    const auto fits = [&](const alternative& one) { return matches(one, one.deep ? whole : name); };
    return std::ranges::any_of(alternatives_, fits) != negated_;
}

}  // namespace cmcp
