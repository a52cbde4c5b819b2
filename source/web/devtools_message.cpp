#include "web/devtools_message.hpp"

#include "text/utf8_text.hpp"

#include <cstdlib>

namespace cmcp {
namespace {

constexpr std::size_t escape_length = 6;  // \uXXXX
constexpr std::size_t deepest = 128;

std::optional<json::object> try_parse(const std::string& text)
{
    json::parse_options how;
    how.max_depth = deepest;
    json::error_code failure;
    json::value value = json::parse(text, failure, {}, how);
    if (failure || !value.is_object()) return std::nullopt;
    return std::move(value.as_object());
}

// The code unit that the escape at `at` stands for; 0: there is no escape of that kind.
unsigned long unit_at(const std::string& text, std::size_t at)
{
    if (at + escape_length > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
    return std::strtoul(text.substr(at + 2, 4).c_str(), nullptr, 16);
}

bool is_high(unsigned long unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(unsigned long unit) { return unit >= 0xDC00 && unit < 0xE000; }

void replace_half_pairs(std::string& text)
{
    for (std::size_t at = text.find('\\'); at != std::string::npos; at = text.find('\\', at)) {
        const auto unit = unit_at(text, at);
        if (is_high(unit) && is_low(unit_at(text, at + escape_length))) {
            at += 2 * escape_length;
            continue;
        }
        if (is_high(unit) || is_low(unit)) text.replace(at + 2, 4, "fffd");
        at += 2;
    }
}

}  // namespace

void devtools_splitter::add(std::string_view bytes)
{
    if (begin_ != 0 && begin_ == held_.size()) {
        held_.clear();
        begin_ = seen_ = 0;
    }
    held_.append(bytes);
}

std::optional<std::string> devtools_splitter::next()
{
    const auto end = held_.find('\0', seen_);
    if (end == std::string::npos) {
        seen_ = held_.size();
        if (begin_ != 0) {
            held_.erase(0, begin_);
            seen_ -= begin_;
            begin_ = 0;
        }
        if (held_.size() > longest_) throw devtools_closed("the browser sent a message that is too long");
        return std::nullopt;
    }
    std::string message = held_.substr(begin_, end - begin_);
    begin_ = seen_ = end + 1;
    return message;
}

json::object parse_devtools(std::string text)
{
    if (auto parsed = try_parse(text)) return std::move(*parsed);
    text = replace_invalid_utf8(text);
    replace_half_pairs(text);
    if (auto parsed = try_parse(text)) return std::move(*parsed);
    throw devtools_closed("the browser sent what is no JSON object");
}

}  // namespace cmcp
