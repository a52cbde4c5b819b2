#include "load/message_skim.hpp"

#include "jsonrpc/json.hpp"

#include <algorithm>
#include <charconv>

namespace cmcp::load {

namespace {

// Walks over JSON text and reads only the members that a load test needs.
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

    std::optional<std::string_view> string();  // raw, without its quotes

    // The text of the value at this place; empty when there is none.
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

// Calls `visit(key, value)`, both raw, for each member. False when the text is no object.
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

std::size_t utf8_size(unsigned unit)
{
    if (unit < 0x80) return 1;
    if (unit < 0x800) return 2;
    return unit >= 0xd800 && unit < 0xe000 ? 2 : 3;  // a surrogate is half of a character of four bytes
}

// The number of UTF-8 bytes that a JSON string decodes to; `raw` is without its quotes.
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

std::string_view unquoted(std::string_view raw)
{
    return raw.size() >= 2 && raw.front() == '"' ? raw.substr(1, raw.size() - 2) : std::string_view();
}

bool failed_run_object(std::string_view object)
{
    bool failed = false;
    each_member(object, [&failed](std::string_view key, std::string_view value) {
        if (key == "exit_code") failed = failed || read_json_number<double>(value).value_or(0) != 0;
        if (key == "success") failed = failed || value.starts_with("false");
    });
    return failed;
}

// The raw string of the first text in `content`; empty where `content` has none.
std::string_view first_text(std::string_view content)
{
    std::string_view text;
    json_walker at(content);
    if (!at.take('[')) return text;
    each_member(at.value(), [&text](std::string_view key, std::string_view value) {
        if (key == "text") text = value;
    });
    return text;
}

bool failed_run_text(std::string_view quoted)
{
    // Most texts are no JSON, and a look is cheaper than a parser.
    const bool object = quoted.starts_with("\"{") || quoted.starts_with("\" ") || quoted.starts_with("\"\n");
    const auto names = [quoted](std::string_view word) { return quoted.find(word) != std::string_view::npos; };
    if (!object || !(names("exit_code") || names("success"))) return false;
    boost::system::error_code error;
    const auto text = json::parse(json::string_view(quoted.data(), quoted.size()), error);
    return !error && text.is_string() && failed_run_object(text.get_string());
}

}  // namespace

message_skim skim_message(std::string_view text)
{
    message_skim seen;
    seen.valid = each_member(text, [&seen](std::string_view key, std::string_view value) {
        if (key == "id") seen.id = read_json_number<std::int64_t>(value);
        if (key == "method") seen.method = unquoted(value);
        if (key == "params") seen.params = value;
        if (key == "result") seen.result = value;
        if (key == "error") seen.error = value;
    });
    each_member(seen.result, [&seen](std::string_view key, std::string_view value) {
        if (key == "isError") seen.tool_error = value.starts_with("true");
    });
    each_member(seen.error, [&seen](std::string_view key, std::string_view value) {
        if (key == "code") seen.error_code = read_json_number<int>(value);
    });
    if (!seen.error.empty() && !seen.error_code) seen.error_code = 0;
    return seen;
}

progress_skim skim_progress(std::string_view params)
{
    progress_skim seen;
    std::string_view message, meta;
    each_member(params, [&](std::string_view key, std::string_view value) {
        if (key == "message") message = unquoted(value);
        if (key == "_meta") meta = value;
    });
    each_member(meta, [&seen](std::string_view key, std::string_view value) {
        if (key == "container-mcp/stream") seen.stderr_stream = unquoted(value) == "stderr";
        if (key == "container-mcp/offset") seen.offset = read_json_number<std::uint64_t>(value);
    });
    seen.output = !message.empty();
    seen.bytes = decoded_size(message);
    return seen;
}

bool tells_of_failed_run(std::string_view result)
{
    std::string_view structured, content;
    each_member(result, [&](std::string_view key, std::string_view value) {
        if (key == "structuredContent") structured = value;
        if (key == "content") content = value;
    });
    return structured.empty() ? failed_run_text(first_text(content)) : failed_run_object(structured);
}

std::string_view agreed_revision(std::string_view result)
{
    std::string_view revision;
    each_member(result, [&revision](std::string_view key, std::string_view value) {
        if (key == "protocolVersion") revision = unquoted(value);
    });
    return revision;
}

}  // namespace cmcp::load
