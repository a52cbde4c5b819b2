#include "jsonrpc/broken_text.hpp"

#include "jsonrpc/plain_text.hpp"
#include "text/ascii.hpp"

#include <algorithm>

namespace cmcp::jsonrpc {

namespace {

class json_scanner {
public:
    explicit json_scanner(std::string_view text) : text_(text) {}

    // The next character that is not blank; 0: the text has ended.
    char next()
    {
        at_ = std::min(text_.find_first_not_of(white_space, at_), text_.size());
        return at_ == text_.size() ? '\0' : text_[at_];
    }

    bool take(char wanted)
    {
        if (next() != wanted) return false;
        ++at_;
        return true;
    }

    // The text of a string, an array, an object or a word; empty where it does not end.
    std::string_view value()
    {
        const char first = next();
        const auto begin = at_;
        bool ends = true;
        if (first == '"')
            ends = pass_string();
        else if (first == '{' || first == '[')
            ends = pass_nested();
        else
            at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
        return ends ? text_.substr(begin, at_ - begin) : std::string_view();
    }

private:
    bool pass_string()
    {
        for (++at_; at_ < text_.size(); ++at_) {
            at_ += plain_prefix(text_.substr(at_));
            if (at_ >= text_.size()) break;
            if (text_[at_] == '\\')
                ++at_;
            else if (text_[at_] == '"')
                return ++at_, true;
        }
        return false;
    }

    bool pass_nested()
    {
        std::size_t depth = 0;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                if (!pass_string()) return false;
                continue;
            }
            ++at_;
            if (c == '{' || c == '[') ++depth;
            if ((c == '}' || c == ']') && --depth == 0) return true;
        }
        return false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

json::value id_of(std::string_view text)
{
    json::error_code failure;
    json::value id = json::parse(text, failure);
    return failure ? json::value() : id;
}

}  // namespace

message_outline outline_of(std::string_view text)
{
    json_scanner scanner(text);
    std::string_view id;
    message_outline outline;
    for (bool more = scanner.take('{'); more; more = scanner.take(',')) {
        const auto name = scanner.next() == '"' ? scanner.value() : std::string_view();
        if (name.empty() || !scanner.take(':')) break;
        outline.asks = outline.asks || name == "\"method\"";
        outline.answers = outline.answers || name == "\"result\"" || name == "\"error\"";
        // A result may be long.
        if (outline.answers && !id.empty()) break;
        const auto value = scanner.value();
        if (value.empty()) break;
        if (name == "\"id\"") id = value;
        if (name == "\"method\"" && value.front() == '"') outline.method = value.substr(1, value.size() - 2);
        if (!id.empty() && (outline.asks || outline.answers)) break;
    }
    if (!id.empty()) outline.id = id_of(id);
    return outline;
}

json::value id_in_broken(std::string_view text)
{
    auto outline = outline_of(text);
    return outline.asks ? std::move(outline.id) : json::value();
}

std::vector<std::pair<std::string_view, std::string_view>> raw_members(std::string_view object)
{
    json_scanner scanner(object);
    std::vector<std::pair<std::string_view, std::string_view>> members;
    for (bool more = scanner.take('{'); more; more = scanner.take(',')) {
        const auto name = scanner.next() == '"' ? scanner.value() : std::string_view();
        if (name.empty() || !scanner.take(':')) break;
        const auto value = scanner.value();
        if (value.empty()) break;
        members.emplace_back(name, value);
    }
    return members;
}

std::optional<std::vector<std::string_view>> members_in_broken(std::string_view text, std::size_t most)
{
    json_scanner scanner(text);
    std::vector<std::string_view> members;
    for (bool more = scanner.take('['); more; more = scanner.take(',')) {
        const auto member = scanner.value();
        if (member.empty() || members.size() == most) return std::nullopt;
        members.push_back(member);
    }
    if (members.empty() || !scanner.take(']') || scanner.next() != '\0') return std::nullopt;
    return members;
}

}  // namespace cmcp::jsonrpc
