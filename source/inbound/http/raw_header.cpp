#include "http/raw_header.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace cmcp {

namespace {

// The kinds of bytes in a header.
struct byte_kinds {
    std::array<bool, 256> token{};      // RFC 9110 section 5.6.2
    std::array<bool, 256> forbidden{};  // control characters, with CR, whose place end_of_line() checks
};

constexpr byte_kinds make_kinds()
{
    byte_kinds table;
    for (unsigned c = '0'; c <= '9'; ++c) table.token[c] = true;
    for (unsigned c = 'a'; c <= 'z'; ++c) table.token[c] = table.token[c - 'a' + 'A'] = true;
    for (char c : std::string_view("!#$%&'*+-.^_`|~")) table.token[static_cast<unsigned char>(c)] = true;
    for (unsigned c = 0; c < 0x20; ++c) table.forbidden[c] = c != '\t';
    table.forbidden[0x7f] = true;
    return table;
}

constexpr byte_kinds kinds = make_kinds();

bool is_token(char c) { return kinds.token[static_cast<unsigned char>(c)]; }

bool is_forbidden(char c) { return kinds.forbidden[static_cast<unsigned char>(c)]; }

// Whether a byte of eight is below 0x20 or 0x7f: those with none are the most by far, and tokens are long.
bool has_control(std::uint64_t word)
{
    constexpr std::uint64_t each = 0x0101010101010101;
    const auto without_del = word ^ each * 0x7f;
    return (((word - each * 0x20) & ~word) | ((without_del - each) & ~without_del)) & each * 0x80;
}

std::string_view::iterator find_forbidden(std::string_view text)
{
    std::size_t at = 0;
    for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
        std::memcpy(&word, text.data() + at, sizeof word);
        if (has_control(word)) break;
    }
    return std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_forbidden);
}

}  // namespace

raw_header::verdict raw_header::look(std::string_view bytes)
{
    while (looked_ < bytes.size()) {
        auto end = bytes.find('\n', looked_);
        auto stop = std::min(end, bytes.size());
        if (stop - begin_ >= max_bytes_ && lines_ == 0)
            return refuse(414, "The request target is too long; shorten it.");
        if (stop - begin_ >= max_bytes_) return refuse(431, "The header is too long; send fewer or shorter fields.");
        auto result = piece(bytes.substr(looked_, stop - looked_), end != std::string_view::npos);
        if (result != verdict::incomplete) return result;
        looked_ = stop;
        if (end == std::string_view::npos) break;
        result = end_of_line(bytes, end);
        looked_ = end + 1;
        if (result == verdict::complete) size_ = looked_;
        if (result != verdict::incomplete) return result;
    }
    return verdict::incomplete;
}

// Of one line, without its LF. A CR may only stand right before the LF, which may not have come yet.
raw_header::verdict raw_header::piece(std::string_view text, bool line_ends)
{
    if (text.empty()) return verdict::incomplete;
    if (after_cr_) return refuse(400, "A CR in the header must be followed by LF.");
    auto bad = find_forbidden(text);
    if (bad == text.end()) return verdict::incomplete;
    if (*bad != '\r') return refuse(400, "The header holds a control character; this port speaks plain HTTP/1.1.");
    if (bad + 1 != text.end()) return refuse(400, "A CR in the header must be followed by LF.");
    after_cr_ = !line_ends;
    return verdict::incomplete;
}

raw_header::verdict raw_header::end_of_line(std::string_view bytes, std::size_t end)
{
    after_cr_ = false;
    if (end == line_start_ || bytes[end - 1] != '\r') return refuse(400, "Lines of the header must end with CRLF.");
    auto text = bytes.substr(line_start_, end - 1 - line_start_);
    line_start_ = end + 1;
    return line(text);
}

raw_header::verdict raw_header::line(std::string_view text)
{
    if (lines_ == 0) {
        if (!text.empty()) return request_line(text);
        // RFC 9112 section 2.2: an empty line before the request line is to be ignored; a flood of them is not.
        begin_ = line_start_;
        return begin_ > 4 ? refuse(400, "A request must begin with a request line.") : verdict::incomplete;
    }
    if (text.empty()) return verdict::complete;
    return field_line(text);
}

raw_header::verdict raw_header::request_line(std::string_view text)
{
    ++lines_;
    auto first = text.find(' ');
    auto last = text.rfind(' ');
    if (first == 0 || first == std::string_view::npos || last == first || text.find(' ', first + 1) != last ||
        last == first + 1)
        return refuse(400, "The request line must be METHOD, target and HTTP/1.1 with single blanks.");
    if (!std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(first), is_token))
        return refuse(400, "The method is not a token.");
    auto version = text.substr(last + 1);
    if (version == "HTTP/1.1" || version == "HTTP/1.0") return verdict::incomplete;
    if (version.substr(0, 5) == "HTTP/") return refuse(505, "Use HTTP/1.1.");
    return refuse(400, "The request line must end with HTTP/1.1.");
}

raw_header::verdict raw_header::field_line(std::string_view text)
{
    if (++lines_ > max_fields_ + 1) return refuse(431, "The header has too many fields.");
    if (text.front() == ' ' || text.front() == '\t') return refuse(400, "Folded header lines are not accepted.");
    auto colon = text.find(':');
    if (colon == 0 || colon == std::string_view::npos) return refuse(400, "A header line must be 'Name: value'.");
    if (!std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), is_token))
        return refuse(400, "A header name holds a character that is not allowed, such as a blank before the colon.");
    return verdict::incomplete;
}

raw_header::verdict raw_header::refuse(int status, std::string_view sentence)
{
    status_ = status;
    sentence_ = sentence;
    return verdict::refused;
}

}  // namespace cmcp
