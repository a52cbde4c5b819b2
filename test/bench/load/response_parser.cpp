#include "load/response_parser.hpp"
#include "text/ascii.hpp"

#include <algorithm>
#include <charconv>

namespace cmcp::load {

namespace {

constexpr std::size_t longest_line = 64 * 1024;

bool contains(std::string_view text, std::string_view part)
{
    auto found = std::search(text.begin(), text.end(), part.begin(), part.end(),
                             [](char x, char y) { return to_lower(x) == to_lower(y); });
    return found != text.end();
}

template <class Number>
bool read_number(std::string_view text, Number& into, int base)
{
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
    return error == std::errc() && end != text.data();
}

}  // namespace

bool response_parser::feed(std::string_view bytes)
{
    while (!bytes.empty()) {
        if (at_ == place::sized_body || at_ == place::chunk || at_ == place::until_close) {
            take_body(bytes);
            continue;
        }
        std::string_view line;
        if (!take_line(bytes, line)) return line_.size() <= longest_line;
        bool good = at_ == place::head ? head_line(line) : framing_line(line);
        line_.clear();
        if (!good) return false;
    }
    return true;
}

// A whole line without its end; what has come of an incomplete one is kept.
bool response_parser::take_line(std::string_view& bytes, std::string_view& line)
{
    auto end = bytes.find('\n');
    if (end == std::string_view::npos) {
        line_.append(bytes);
        bytes = {};
        return false;
    }
    line = bytes.substr(0, end);
    if (!line_.empty()) line = line_.append(line);
    bytes.remove_prefix(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return true;
}

bool response_parser::head_line(std::string_view line)
{
    if (!any_line_) {
        any_line_ = true;
        bool http = line.starts_with("HTTP/1.") && line.size() >= 12;
        return http && read_number(line.substr(9, 3), head_.status, 10);
    }
    return line.empty() ? begin_body() : field_line(line);
}

bool response_parser::field_line(std::string_view line)
{
    auto colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    auto name = line.substr(0, colon);
    auto value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    if (equal_ignoring_case(name, "content-length")) return sized_ = read_number(value, left_, 10);
    if (equal_ignoring_case(name, "transfer-encoding")) chunked_ = contains(value, "chunked");
    if (equal_ignoring_case(name, "content-type")) head_.events = contains(value, "text/event-stream");
    if (equal_ignoring_case(name, "connection")) head_.close = contains(value, "close");
    if (equal_ignoring_case(name, "mcp-session-id")) head_.session = value;
    return true;
}

bool response_parser::begin_body()
{
    any_line_ = false;
    if (head_.status == 100) {
        head_ = {};
        return true;
    }
    to_.head(head_);
    bool empty = head_.status == 204 || head_.status == 304 || (sized_ && left_ == 0 && !chunked_);
    if (empty)
        finish();
    else if (chunked_)
        at_ = place::chunk_size;
    else
        at_ = sized_ ? place::sized_body : place::until_close;
    return true;
}

bool response_parser::framing_line(std::string_view line)
{
    if (at_ == place::chunk_end) {
        at_ = place::chunk_size;
        return line.empty();
    }
    if (at_ == place::trailer) {
        if (line.empty()) finish();
        return true;
    }
    if (!read_number(line, left_, 16)) return false;
    at_ = left_ == 0 ? place::trailer : place::chunk;
    return true;
}

void response_parser::take_body(std::string_view& bytes)
{
    auto size = at_ == place::until_close ? bytes.size() : std::min<std::uint64_t>(left_, bytes.size());
    auto piece = bytes.substr(0, size);
    bytes.remove_prefix(size);
    left_ -= at_ == place::until_close ? 0 : size;
    bool over = at_ != place::until_close && left_ == 0;
    bool chunk = at_ == place::chunk;
    if (over && chunk) at_ = place::chunk_end;
    to_.body(piece);
    if (over && !chunk) finish();
}

void response_parser::finish()
{
    reset();
    to_.end();
}

bool response_parser::closed()
{
    bool whole = at_ == place::head && !any_line_ && line_.empty();
    if (at_ != place::until_close) return whole;
    finish();
    return true;
}

void response_parser::reset()
{
    head_ = {};
    left_ = 0;
    line_.clear();
    at_ = place::head;
    any_line_ = sized_ = chunked_ = false;
}

}  // namespace cmcp::load
