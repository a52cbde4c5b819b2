#include "egress/host.hpp"

#include "text/ascii.hpp"
#include "text/number.hpp"
#include "text/words.hpp"

#include <boost/asio/ip/address.hpp>

#include <idn2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace cmcp {
namespace {

namespace ip = boost::asio::ip;

constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

[[noreturn]] void refuse_host(std::string_view text, const char* why)
{
    throw bad_host("The host \"" + std::string(text.substr(0, 100)) + "\" " + why);
}

bool is_ascii(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
}

// UTS 46 without the transitional mappings, as browsers do it.
std::string to_ascii(std::string_view text)
{
    std::uint8_t* ascii = nullptr;
    const std::string input(text);
    const int failed = ::idn2_lookup_u8(reinterpret_cast<const std::uint8_t*>(input.c_str()), &ascii,
                                        IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    const std::unique_ptr<std::uint8_t, void (*)(void*)> owner(ascii, ::idn2_free);
    if (failed != IDN2_OK) refuse_host(text, "is not a valid international domain name; check its spelling.");
    return reinterpret_cast<const char*>(ascii);
}

// Decimal, 0x hexadecimal or 0 octal; nothing when it is no number or above 32 bits.
std::optional<std::uint32_t> number(std::string_view text)
{
    const int base = text.starts_with("0x") ? 16 : text.size() > 1 && text.front() == '0' ? 8 : 10;
    if (base == 16) text.remove_prefix(2);
    if (text.empty()) return base == 16 ? std::optional<std::uint32_t>(0) : std::nullopt;
    return read_number<std::uint32_t>(text, base);
}

bool is_number_like(std::string_view label)
{
    const bool hex =
        label.starts_with("0x") && label.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
    return hex || all_digits(label);
}

// WHATWG URL "IPv4 parser": the last part fills all bytes that are left.
std::optional<ip::address> read_v4(const std::vector<std::string_view>& parts)
{
    if (parts.size() > 4) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto part = number(parts[i]);
        const bool last = i + 1 == parts.size();
        const std::uint64_t most = last ? (1ull << (8 * (5 - parts.size()))) - 1 : 255;
        if (!part || *part > most) return std::nullopt;
        value |= last ? *part : std::uint64_t{*part} << (8 * (3 - i));
    }
    return ip::address_v4(static_cast<ip::address_v4::uint_type>(value));
}

host from_address(const ip::address& written)
{
    const ip::address address = unmapped(written);
    return {address.to_string(), address};
}

host read_v6(std::string_view text)
{
    boost::system::error_code failure;
    const auto address = ip::make_address_v6(std::string(text), failure);
    if (failure || text.find('%') != std::string_view::npos) refuse_host(text, "is not a valid IPv6 address.");
    return from_address(address);
}

void check_labels(std::string_view name, const std::vector<std::string_view>& labels)
{
    if (name.size() > longest_name) refuse_host(name, "is longer than the 253 characters that a name may have.");
    for (auto label : labels) {
        if (label.empty()) refuse_host(name, "has an empty part between two dots.");
        if (label.size() > longest_label) refuse_host(name, "has a part of more than 63 characters.");
        for (char c : label) {
            const bool allowed = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
            if (!allowed) refuse_host(name, "has characters that no host name has.");
        }
    }
}

}  // namespace

ip::address unmapped(const ip::address& address)
{
    const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
    return mapped ? ip::address(ip::make_address_v4(ip::v4_mapped, address.to_v6())) : address;
}

std::string host::text() const { return address && address->is_v6() ? "[" + name + "]" : name; }

host read_host(std::string_view text)
{
    if (text.size() > 2 && text.front() == '[' && text.back() == ']') return read_v6(text.substr(1, text.size() - 2));
    if (text.find(':') != std::string_view::npos) return read_v6(text);
    if (text.size() > 4 * longest_name) refuse_host(text, "is longer than the 253 characters that a name may have.");
    std::string name = lower_case(is_ascii(text) ? std::string(text) : to_ascii(text));
    if (name.ends_with('.')) name.pop_back();
    if (name.empty()) throw bad_host("The address names no host.");
    const auto labels = split(name, '.');
    if (is_number_like(labels.back())) {
        if (const auto address = read_v4(labels)) return from_address(*address);
        refuse_host(text, "is not a valid IPv4 address.");
    }
    check_labels(name, labels);
    return {name, std::nullopt};
}

}  // namespace cmcp
