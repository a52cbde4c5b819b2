#include "http/raw_header.hpp"

#include <algorithm>

namespace cmcp {

namespace {

// RFC 9110 section 5.6.2
bool is_token(char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

}  // namespace

raw_header::verdict raw_header::look(std::string_view bytes)
{
    for (; looked_ < bytes.size(); ++looked_) {
        char c = bytes[looked_];
        if (looked_ - begin_ >= max_bytes_)
            return lines_ == 0 ? refuse(414, "The request target is too long; shorten it.")
                               : refuse(431, "The header is larger than HTTP_MAX_HEADER_BYTES allows.");
        if (c == '\n') {
            if (looked_ == line_start_ || bytes[looked_ - 1] != '\r')
                return refuse(400, "Lines of the header must end with CRLF.");
            auto text = bytes.substr(line_start_, looked_ - 1 - line_start_);
            line_start_ = looked_ + 1;
            auto result = line(text);
            if (result == verdict::complete) size_ = ++looked_;
            if (result != verdict::incomplete) return result;
        } else if (looked_ > line_start_ && bytes[looked_ - 1] == '\r') {
            return refuse(400, "A CR in the header must be followed by LF.");
        } else if (is_control(c) && c != '\r') {
            return refuse(400, "The header holds a control character; this port speaks plain HTTP/1.1.");
        }
    }
    return verdict::incomplete;
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
