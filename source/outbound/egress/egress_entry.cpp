#include "egress/egress_policy.hpp"

#include "egress/address_rules.hpp"
#include "text/number.hpp"

#include <boost/asio/ip/address.hpp>

#include <stdexcept>

namespace cmcp {
namespace {

namespace ip = boost::asio::ip;

[[noreturn]] void refuse(std::string_view text, const std::string& why)
{
    throw std::invalid_argument("\"" + std::string(text) + "\" " + why);
}

// What was meant by an address whose scheme ends there.
std::string example_of(std::string_view address, std::size_t scheme)
{
    const auto rest = address.substr(scheme + 3);
    const auto host = rest.substr(0, rest.find_first_of("/?#"));
    return "write " + std::string(host.empty() ? "example.com" : host) + ".";
}

unsigned number_to(std::string_view digits, unsigned most, std::string_view whole, const char* why)
{
    const auto number = read_number<unsigned>(digits);
    if (!number || *number > most) refuse(whole, why);
    return *number;
}

// Takes ":port" off the end. A bare IPv6 address has more than one colon and no port.
std::uint16_t take_port(std::string_view& rest, std::string_view whole)
{
    const auto colon = rest.rfind(':');
    if (colon == std::string_view::npos) return 0;
    const bool bare_v6 = rest.front() != '[' && rest.find(':') != colon;
    const bool within_brackets = rest.front() == '[' && rest.find(']') > colon;
    if (bare_v6 || within_brackets) return 0;
    const auto port = number_to(rest.substr(colon + 1), 65535, whole,
                                "has no valid port: behind the colon belongs a number from 1 to 65535.");
    if (port == 0) refuse(whole, "has port 0; leave it out to mean every port.");
    rest = rest.substr(0, colon);
    return static_cast<std::uint16_t>(port);
}

// Takes "/prefix" off the end; a whole address when there is none.
std::optional<unsigned> take_prefix(std::string_view& rest, std::string_view whole)
{
    const auto slash = rest.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const unsigned prefix = number_to(rest.substr(slash + 1), 128, whole, "has a block size that is none.");
    rest = rest.substr(0, slash);
    return prefix;
}

void fill_range(egress_entry& entry, const ip::address& address, std::optional<unsigned> prefix, std::string_view whole)
{
    const unsigned bits = address.is_v4() ? 32 : 128;
    entry.is = egress_entry::kind::range;
    entry.network = address;
    entry.prefix = prefix.value_or(bits);
    if (entry.prefix > bits) refuse(whole, "has a block size above 32 for an IPv4 address.");
}

void fill_host(egress_entry& entry, std::string_view rest, std::string_view whole)
{
    const auto prefix = take_prefix(rest, whole);
    host named;
    try {
        named = read_host(rest);
    } catch (const bad_host& problem) {
        refuse(whole,
               "is no entry: write *, example.com, *.example.com, an address or a block such as 10.0.0.0/8, each "
               "with :port where only one is meant, and with ! in front to refuse it.");
    }
    if (named.address) return fill_range(entry, *named.address, prefix, whole);
    if (prefix) refuse(whole, "has a block size, which only an address can have.");
    entry.is = egress_entry::kind::exact;
    entry.name = named.name;
}

}  // namespace

egress_entry egress_entry::parse(std::string_view text)
{
    egress_entry entry;
    std::string_view rest = text;
    if (rest.starts_with('!')) {
        entry.refuses = true;
        rest.remove_prefix(1);
    }
    if (rest.empty()) refuse(text, "names no host.");
    if (const auto scheme = rest.find("://"); scheme != std::string_view::npos)
        refuse(text, "is an address of the web, and an entry names a host alone: " + example_of(rest, scheme));
    entry.port = take_port(rest, text);
    if (rest == "*") return entry;
    const bool below = rest.starts_with("*.");
    if (below) rest.remove_prefix(2);
    fill_host(entry, rest, text);
    if (below && entry.is != kind::exact) refuse(text, "has *. before an address.");
    if (below) entry.is = kind::subdomains;
    return entry;
}

bool egress_entry::names(const host& who, std::uint16_t to) const
{
    if (port != 0 && port != to) return false;
    switch (is) {
        case kind::any:
            return true;
        case kind::exact:
            return !who.address && who.name == name;
        case kind::subdomains:
            return !who.address && who.name.ends_with("." + name);
        case kind::range:
            return who.address && holds(*who.address, to);
    }
    return false;
}

bool egress_entry::holds(const ip::address& written, std::uint16_t to) const
{
    if (is != kind::range || (port != 0 && port != to)) return false;
    return same_block(unmapped(written), network, prefix);
}

}  // namespace cmcp
