#include "egress/web_url.hpp"

#include "text/ascii.hpp"
#include "text/number.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>

namespace cmcp {
namespace {

constexpr std::size_t longest_url = 16 * 1024;
// The WHATWG's URL parser takes these away at both ends.
constexpr char controls_and_space_bytes[] =
    "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37 ";
constexpr std::string_view controls_and_space(controls_and_space_bytes, 33);

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_scheme_character(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'; }

// The scheme with its colon, empty when the text begins with none.
std::string_view leading_scheme(std::string_view text)
{
    if (text.empty() || !is_letter(text.front())) return {};
    std::size_t end = 0;
    while (end < text.size() && is_scheme_character(text[end])) ++end;
    return end < text.size() && text[end] == ':' ? text.substr(0, end + 1) : std::string_view();
}

void check_text(std::string_view text)
{
    if (text.empty()) throw bad_url("url: is empty; give an absolute address such as https://example.com/page.");
    if (text.size() > longest_url) throw bad_url("url: is longer than 16 KiB.");
    for (unsigned char c : text)
        if (c < ' ' || c == 0x7f) throw bad_url("url: holds control characters; give the plain address.");
}

bool read_scheme(std::string_view& rest)
{
    const auto scheme = lower_case(leading_scheme(rest));
    if (scheme.empty())
        throw bad_url("url: \"" + std::string(rest.substr(0, 100)) +
                      "\" is no absolute address; it must begin with http:// or https://.");
    if (scheme != "http:" && scheme != "https:")
        throw bad_url("url: the scheme " + scheme.substr(0, 40) + " cannot be fetched; only http:// and https:// can.");
    rest.remove_prefix(scheme.size());
    if (!rest.starts_with("//"))
        throw bad_url("url: is malformed: after " + scheme +
                      " must come // and a host, as in https://example.com/page.");
    rest.remove_prefix(2);
    return scheme == "https:";
}

std::uint16_t read_port(std::string_view digits, bool secure)
{
    if (digits.empty()) return secure ? 443 : 80;
    const auto port = read_number<std::uint16_t>(digits);
    if (!port || *port == 0)
        throw bad_url("url: is malformed: \"" + std::string(digits.substr(0, 20)) + "\" is no port; 1 to 65535 are.");
    return *port;
}

void read_authority(web_url& into, std::string_view authority)
{
    if (authority.find('@') != std::string_view::npos)
        throw bad_url(
            "url: holds a user name or password, which is not sent; give the address without what stands before the "
            "@.");
    if (authority.find('\\') != std::string_view::npos)
        throw bad_url("url: is malformed: a backslash stands in the host; write / instead.");
    const auto bracket = authority.rfind(']');
    if (authority.starts_with('[') && bracket == std::string_view::npos)
        throw bad_url("url: is malformed: the bracket before the IPv6 address is not closed; write http://[::1]/ so.");
    const auto colon = authority.rfind(':');
    const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
    into.port = read_port(has_port ? authority.substr(colon + 1) : std::string_view(), into.secure);
    const auto name = authority.substr(0, has_port ? colon : authority.size());
    if (name.empty()) throw bad_url("url: names no host; give an address such as https://example.com/page.");
    try {
        into.who = read_host(name);
    } catch (const bad_host& problem) {
        throw bad_url(std::string("url: is malformed: ") + problem.what());
    }
}

bool stays_as_it_is(unsigned char c)
{
    return c > ' ' && c < 0x7f && std::string_view("\"<>\\^`{|}").find(static_cast<char>(c)) == std::string_view::npos;
}

// A "%" that begins no escape is encoded, too.
std::string encoded(std::string_view text)
{
    static constexpr char digits[] = "0123456789ABCDEF";
    const auto is_hex = [&](std::size_t at) {
        return at < text.size() && std::string_view("0123456789abcdefABCDEF").find(text[at]) != std::string_view::npos;
    };
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool bare_percent = c == '%' && !(is_hex(i + 1) && is_hex(i + 2));
        if (stays_as_it_is(c) && !bare_percent) {
            result += text[i];
        } else {
            result += '%';
            result += digits[c >> 4];
            result += digits[c & 15];
        }
    }
    return result;
}

std::string target_of(std::string_view path_and_query)
{
    const std::string target = encoded(path_and_query);
    return target.starts_with('/') ? target : "/" + target;
}

}  // namespace

std::string web_url::authority() const
{
    return who.text() + (port == (secure ? 443 : 80) ? "" : ":" + std::to_string(port));
}

std::string web_url::origin() const { return (secure ? "https://" : "http://") + authority(); }

std::string web_url::text() const { return origin() + target + fragment; }

web_url web_url::parse(std::string_view text)
{
    std::string_view rest = trimmed(text, controls_and_space);
    check_text(rest);
    web_url url;
    url.secure = read_scheme(rest);
    const auto end = std::min(rest.find_first_of("/?#"), rest.size());
    read_authority(url, rest.substr(0, end));
    rest.remove_prefix(end);
    const auto hash = std::min(rest.find('#'), rest.size());
    url.target = target_of(rest.substr(0, hash));
    if (hash < rest.size()) url.fragment = "#" + encoded(rest.substr(hash + 1));
    return url;
}

web_url web_url::follow(std::string_view reference) const
{
    const std::string_view relative_text = trimmed(reference, controls_and_space);
    if (relative_text.empty()) return *this;
    if (!leading_scheme(relative_text).empty()) return parse(relative_text);
    check_text(relative_text);
    if (relative_text.starts_with("//")) return parse((secure ? "https:" : "http:") + std::string(relative_text));
    const std::string clean = encoded(relative_text);
    const std::string base_text = origin() + target;
    const auto base = boost::urls::parse_uri(base_text);
    const auto relative = boost::urls::parse_uri_reference(clean);
    if (base.has_error() || relative.has_error())
        throw bad_url("url: \"" + std::string(relative_text.substr(0, 100)) + "\" is malformed.");
    boost::urls::url resolved;
    if (boost::urls::resolve(*base, *relative, resolved).has_error())
        throw bad_url("url: \"" + std::string(relative_text.substr(0, 100)) + "\" is malformed.");
    return parse(std::string_view(resolved.buffer().data(), resolved.buffer().size()));
}

}  // namespace cmcp
