#include "load/json_walker.hpp"

#include <algorithm>

namespace cmcp::load {

void json_walker::blank()
{
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
        ++at_;
}

std::optional<std::string_view> json_walker::string()
{
    if (!take('"')) return std::nullopt;
    for (auto begin = at_; at_ < text_.size(); ++at_) {
        if (text_[at_] == '"') return text_.substr(begin, at_++ - begin);
        if (text_[at_] == '\\') ++at_;
    }
    return std::nullopt;
}

std::string_view json_walker::value()
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

namespace {

std::size_t utf8_size(unsigned unit)
{
    if (unit < 0x80) return 1;
    if (unit < 0x800) return 2;
    return unit >= 0xd800 && unit < 0xe000 ? 2 : 3;  // half of a pair, which makes four bytes together
}

}  // namespace

std::string nested_json(std::string_view raw)
{
    std::string text;
    text.reserve(raw.size());
    for (std::size_t at = 0; at < raw.size(); ++at) {
        if (raw[at] != '\\' || at + 1 == raw.size()) {
            text += raw[at];
            continue;
        }
        char c = raw[++at];
        if (c == 'n' || c == 'r' || c == 't')
            c = ' ';
        else if (c != '"' && c != '\\' && c != '/')
            text += '\\';
        text += c;
    }
    return text;
}

std::size_t decoded_size(std::string_view raw)
{
    std::size_t size = 0;
    for (auto at = raw.find('\\'); at != std::string_view::npos; at = raw.find('\\')) {
        bool unit = raw.substr(at + 1, 1) == "u";
        unsigned number = 0;
        auto digits = raw.substr(std::min(at + 2, raw.size()), 4);
        if (unit) std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
        size += at + (unit ? utf8_size(number) : 1);
        raw.remove_prefix(std::min(at + (unit ? 6 : 2), raw.size()));
    }
    return size + raw.size();
}

}  // namespace cmcp::load
