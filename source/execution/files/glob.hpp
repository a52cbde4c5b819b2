#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// A file name pattern, the same for all tools: `*` (no slash), `?`, `[a-z]`, `[!a-z]`, `[[:digit:]]`, `**`, which also
/// takes slashes (`**/` may be empty), `{a,b}`, and `!` in front for all that does not fit. A slash or `./` in front
/// means the folder that is looked through; one at the end, all below. A backslash makes the next character literal.
/// Matching takes time linear in the text for every pattern.
class glob {
public:
    explicit glob(std::string_view pattern);  ///< UTF-8; throws file_error that names `pattern`

    bool matches(std::string_view text) const;

    /// The same of a path: an alternative without slash and `**` is about its last name.
    bool finds(std::string_view path) const;

    /// Whether it speaks of paths (it holds a slash or `**`) and not of names alone.
    bool is_deep() const;

    bool is_negated() const { return negated_; }

    /// The patterns without braces of which one must fit.
    const std::vector<std::string>& alternatives() const { return texts_; }

private:
    enum class kind { literal, any_one, any_run, any_depth, maybe_skip, set };
    struct token {
        kind what;
        char32_t character = 0;
        bool negated = false;
        std::vector<std::pair<char32_t, char32_t>> ranges{};
    };
    /// A set of positions in the tokens, which are at most 200 and a few.
    class positions {
    public:
        void add(std::size_t position) { words_[position / 64] |= std::uint64_t{1} << (position % 64); }
        bool has(std::size_t position) const { return (words_[position / 64] >> (position % 64) & 1) != 0; }
        bool any() const { return (words_[0] | words_[1] | words_[2] | words_[3]) != 0; }
        positions later(unsigned by) const;  ///< each position moved on; `by` is less than 64
        bool operator==(const positions&) const = default;
        positions operator&(const positions& other) const;
        positions operator|(const positions& other) const;

    private:
        std::array<std::uint64_t, 4> words_{};
    };
    struct alternative {
        std::vector<token> tokens;
        bool deep = false;
        positions stars;                     ///< stay where they are with a character
        positions others;                    ///< are passed by one
        positions empty;                     ///< may be left without a character
        positions skips;                     ///< may be passed with the star and the slash behind them
        std::array<positions, 128> fitting;  ///< for each character of ASCII
    };

    static alternative read(std::string_view text);
    static std::size_t add_stars(alternative& into, const std::u32string& pattern, std::size_t at);
    static std::size_t add_set(alternative& into, const std::u32string& pattern, std::size_t at);
    static bool fits(const token& one, char32_t c);
    static void prepare(alternative& one);
    static positions fitting(const alternative& one, char32_t c);
    static positions spread(const alternative& one, positions active);
    static bool matches(const alternative& one, const std::u32string& text);

    std::vector<std::string> texts_;
    std::vector<alternative> alternatives_;
    bool negated_ = false;
};

}  // namespace cmcp
