#include "jupyter/notebook_text.hpp"

#include <algorithm>
#include <cstddef>

namespace cmcp::jupyter {

namespace {

constexpr std::string_view blanks = " \t\r\n";

// The end of what begins at `at`: a string, or a single character or word outside of strings.
std::size_t end_of_token(std::string_view text, std::size_t at)
{
    if (text[at] != '"') {
        if (std::string_view("{}[],:").find(text[at]) != std::string_view::npos) return at + 1;
        return std::min(text.find_first_of(" \t\r\n{}[],:\"", at), text.size());
    }
    for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    return std::min(at + 1, text.size());
}

// The tokens of JSON, one after the other; empty at the end.
class tokens {
public:
    explicit tokens(std::string_view text) : text_(text) {}

    std::string_view next()
    {
        begin_ = std::min(text_.find_first_not_of(blanks, end_), text_.size());
        end_ = begin_ == text_.size() ? begin_ : end_of_token(text_, begin_);
        return text_.substr(begin_, end_ - begin_);
    }
    std::size_t begin() const { return begin_; }
    std::size_t end() const { return end_; }

private:
    std::string_view text_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

bool opens(std::string_view token) { return token == "{" || token == "["; }
bool closes(std::string_view token) { return token == "}" || token == "]"; }

// The value that begins with the next token.
std::string_view next_value(tokens& all, std::string_view text)
{
    std::string_view token = all.next();
    const auto begin = all.begin();
    std::size_t depth = 0;
    for (;; token = all.next()) {
        if (token.empty()) break;
        depth += opens(token) ? 1 : 0;
        depth -= closes(token) ? 1 : 0;
        if (depth == 0) break;
    }
    return text.substr(begin, all.end() - begin);
}

// Notebooks are not that deep; else text of many brackets would become many times as long.
constexpr std::size_t deepest_indent = 16;

void begin_line(std::string& to, std::size_t depth) { to.append("\n").append(std::min(depth, deepest_indent), ' '); }

}  // namespace

void for_each_member(std::string_view object,
                     const std::function<void(std::string_view name, std::string_view value)>& member)
{
    tokens all(object);
    for (auto token = all.next(); !token.empty(); token = all.next()) {
        if (!token.starts_with('"')) continue;
        all.next();  // the colon
        member(token, next_value(all, object));
    }
}

std::optional<std::string_view> member_text(std::string_view object, std::string_view name)
{
    const std::string quoted = '"' + std::string(name) + '"';
    std::optional<std::string_view> latest;
    for_each_member(object, [&](std::string_view each, std::string_view value) {
        if (each == quoted) latest = value;
    });
    return latest;
}

std::string indented_json(std::string_view text)
{
    std::string indented;
    std::size_t depth = 0;
    tokens all(text);
    std::string_view before;
    for (auto token = all.next(); !token.empty(); token = all.next()) {
        if (closes(token)) --depth;
        if ((closes(token) && !opens(before)) || (!closes(token) && (opens(before) || before == ",")))
            begin_line(indented, depth);
        indented.append(token).append(token == ":" ? " " : "");
        if (opens(token)) ++depth;
        before = token;
    }
    return indented += '\n';
}

}  // namespace cmcp::jupyter
