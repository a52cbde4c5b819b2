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
    /// A set of places in the tokens, which are at most 200 and a few.
    class places {
    public:
        void add(std::size_t place) { words_[place / 64] |= std::uint64_t{1} << (place % 64); }
        bool has(std::size_t place) const { return (words_[place / 64] >> (place % 64) & 1) != 0; }
        bool any() const { return (words_[0] | words_[1] | words_[2] | words_[3]) != 0; }
        places later(unsigned by) const;  ///< each place moved on; `by` is less than 64
        bool operator==(const places&) const = default;
        places operator&(const places& other) const;
        places operator|(const places& other) const;

    private:
        std::array<std::uint64_t, 4> words_{};
    };
    struct alternative {
        std::vector<token> tokens;
        bool deep = false;
        places stars;                     ///< stay where they are with a character
        places others;                    ///< are passed by one
        places empty;                     ///< may be left without a character
        places skips;                     ///< may be passed with the star and the slash behind them
        std::array<places, 128> fitting;  ///< for each character of ASCII
    };

    static alternative read(std::string_view text);
    static std::size_t add_stars(alternative& into, const std::u32string& pattern, std::size_t at);
    static std::size_t add_set(alternative& into, const std::u32string& pattern, std::size_t at);
    static bool fits(const token& one, char32_t c);
    static void prepare(alternative& one);
    static places fitting(const alternative& one, char32_t c);
    static places spread(const alternative& one, places active);
    static bool matches(const alternative& one, const std::u32string& text);

    std::vector<std::string> texts_;
    std::vector<alternative> alternatives_;
    bool negated_ = false;
};

}  // namespace cmcp
