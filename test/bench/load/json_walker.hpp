#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::load {

/// Walks over JSON text without interpreting more than it is asked to.
class json_walker {
public:
    explicit json_walker(std::string_view text) : text_(text) {}

    bool take(char c)
    {
        blank();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    std::optional<std::string_view> string();  ///< raw, without its quotes

    /// The text of whatever value stands here; empty when there is none.
    std::string_view value();

    bool at_end()
    {
        blank();
        return at_ >= text_.size();
    }

private:
    void blank();

    std::string_view text_;
    std::size_t at_ = 0;
};

/// Calls `visit(key, value)`, both raw, for each member. False when the text is no object.
template <class Visit>
bool each_member(std::string_view object, Visit visit)
{
    json_walker at(object);
    if (!at.take('{')) return false;
    if (at.take('}')) return at.at_end();
    do {
        auto key = at.string();
        if (!key || !at.take(':')) return false;
        auto value = at.value();
        if (value.empty()) return false;
        visit(*key, value);
    } while (at.take(','));
    return at.take('}') && at.at_end();
}

template <class Number>
std::optional<Number> read_json_number(std::string_view text)
{
    Number value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    return value;
}

/// The JSON text that stands in a string; `raw` is without its quotes. What stands for a character stays as it is.
std::string nested_json(std::string_view raw);

/// How many bytes of UTF-8 a string stands for; `raw` is without its quotes.
std::size_t decoded_size(std::string_view raw);

}  // namespace cmcp::load
