#include "load/message_skim.hpp"

#include <charconv>

namespace cmcp::load {

namespace {

// Walks over JSON text without interpreting more than it is asked to.
class walker {
public:
    explicit walker(std::string_view text) : text_(text) {}

    void blank()
    {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
            ++at_;
    }

    bool take(char c)
    {
        blank();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    std::optional<std::string_view> string()
    {
        if (!take('"')) return std::nullopt;
        for (auto begin = at_;; ++at_) {
            at_ = text_.find_first_of("\"\\", at_);
            if (at_ == std::string_view::npos) return std::nullopt;
            if (text_[at_] == '"') return text_.substr(begin, at_++ - begin);
            ++at_;
        }
    }

    /// The text of whatever value stands here; empty when there is none.
    std::string_view value()
    {
        blank();
        auto begin = at_;
        std::size_t depth = 0;
        while (at_ < text_.size()) {
            char c = text_[at_];
            if (c == '"') {
                if (!string()) return {};
                if (depth == 0) break;
                continue;
            }
            if (c == '{' || c == '[') ++depth;
            bool closes = c == '}' || c == ']';
            if (depth == 0 && (closes || c == ',')) break;
            ++at_;
            if (closes && --depth == 0) break;
        }
        return at_ > text_.size() ? std::string_view() : text_.substr(begin, at_ - begin);
    }

    bool at_end()
    {
        blank();
        return at_ >= text_.size();
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;
};

template <class Visit>
bool each_member(std::string_view object, Visit visit)
{
    walker at(object);
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
std::optional<Number> number(std::string_view text)
{
    Number value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    return value;
}

}  // namespace

message_skim skim_message(std::string_view text)
{
    message_skim found;
    std::string_view result, error;
    found.valid = each_member(text, [&](std::string_view key, std::string_view value) {
        if (key == "id") found.id = number<std::int64_t>(value);
        if (key == "method" && value.size() >= 2) found.method = value.substr(1, value.size() - 2);
        if (key == "result") result = value;
        if (key == "error") error = value;
    });
    found.has_result = !result.empty();
    each_member(result, [&](std::string_view key, std::string_view value) {
        if (key == "isError") found.tool_error = value.starts_with("true");
    });
    each_member(error, [&](std::string_view key, std::string_view value) {
        if (key == "code") found.error_code = number<int>(value);
    });
    if (!error.empty() && !found.error_code) found.error_code = 0;
    return found;
}

}  // namespace cmcp::load
