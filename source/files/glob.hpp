#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// A file name pattern: `*` (no slash), `?`, `[a-z]`, `[!a-z]`, and `**`, which also takes slashes (`**/` may be
/// empty). A backslash makes the next character literal. Matching takes time linear in the text for every pattern.
class glob {
public:
    explicit glob(std::string_view pattern);  ///< UTF-8; throws file_error that names `pattern`

    bool matches(std::string_view text) const;

    /// Whether it speaks of paths (it holds a slash or `**`) and not of single names.
    bool is_deep() const { return deep_; }

private:
    enum class kind { literal, any_one, any_run, any_depth, maybe_skip, set };
    struct token {
        kind what;
        char32_t character = 0;
        bool negated = false;
        std::vector<std::pair<char32_t, char32_t>> ranges{};
    };

    std::size_t add_stars(const std::u32string& pattern, std::size_t at);
    std::size_t add_set(const std::u32string& pattern, std::size_t at);
    static bool fits(const token& one, char32_t c);
    void spread(std::vector<char>& active) const;

    std::vector<token> tokens_;
    bool deep_ = false;
};

}  // namespace cmcp
