#include "jupyter/message.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/encodings.hpp"
#include "text/random_id.hpp"
#include "text/time_text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

namespace cmcp::jupyter {

namespace {

constexpr std::size_t word = 8;                          // bytes of a number, the lowest first
constexpr std::size_t own_parts = 4;                     // header, parent_header, metadata, content
constexpr std::size_t fewest_offsets = own_parts + 2;    // that of the channel, of each part, and of the end
constexpr std::size_t escape_length = 6;                 // a backslash, u and four digits
constexpr unsigned leading = 0xd800, trailing = 0xdc00;  // begins of the surrogates of UTF-16
constexpr std::size_t most_values = 20'000;
constexpr std::size_t longest_header = 4096;
constexpr std::size_t most_offsets = 1 << 10;  // a client's buffers

std::uint64_t number_at(std::string_view bytes, std::size_t at)
{
    std::uint64_t number = 0;
    for (std::size_t i = word; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
    return number;
}

void append_number(std::string& to, std::uint64_t number)
{
    for (std::size_t i = 0; i < word; ++i) to += static_cast<char>(number >> 8 * i);
}

// The parts between the offsets: channel, header, parent_header, metadata, content, buffers. Empty: wrong offsets.
std::vector<std::string_view> parts_of(std::string_view bytes)
{
    if (bytes.size() < word) return {};
    const auto count = number_at(bytes, 0);
    if (count < fewest_offsets || count > most_offsets || bytes.size() < word * (1 + count)) return {};
    std::vector<std::string_view> parts;
    for (std::size_t i = 1; i < count; ++i) {
        const auto begin = number_at(bytes, word * i), end = number_at(bytes, word * (i + 1));
        if (begin > end || end > bytes.size()) return {};
        parts.push_back(bytes.substr(begin, end - begin));
    }
    return parts;
}

std::optional<unsigned> escaped_unit(std::string_view text, std::size_t at)
{
    unsigned unit = 0;
    if (at + escape_length > text.size() || text.substr(at, 2) != "\\u") return std::nullopt;
    const auto digits = text.substr(at + 2, escape_length - 2);
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return unit;
}

bool is_half(std::optional<unsigned> unit, unsigned first) { return unit && *unit >= first && *unit < first + 0x400; }

// Editors of JavaScript cut a character in two where they count UTF-16 units. U+FFFD stands for the halves, so that the
// connection with all that waits on it does not end for them.
std::string with_whole_characters(std::string_view text)
{
    std::string whole;
    for (std::size_t at = 0; at < text.size();) {
        const auto unit = text[at] == '\\' ? escaped_unit(text, at) : std::nullopt;
        std::size_t length = text[at] == '\\' ? 2 : 1;
        if (unit) length = escape_length;
        const bool pair = is_half(unit, leading) && is_half(escaped_unit(text, at + escape_length), trailing);
        if (pair) length = 2 * escape_length;
        if (!pair && (is_half(unit, leading) || is_half(unit, trailing)))
            whole += "\\ufffd";
        else
            whole += text.substr(at, length);
        at += length;
    }
    return whole;
}

// Values are counted before they are made, because each takes more memory than its text, and time when it goes.
bool has_few_values(std::string_view text)
{
    std::size_t values = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"')
            for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
        else
            values += c == ',' || c == '[' || c == '{' ? 1 : 0;
    }
    return values <= most_values;
}

json::object object_in(std::string_view text)
{
    if (!has_few_values(text)) return {};
    auto object = jsonrpc::read_object(text);
    if (object.empty() && text.find("\\u") != std::string_view::npos)
        object = jsonrpc::read_object(with_whole_characters(text));
    return object;
}

message read_v1(std::string_view bytes)
{
    const auto parts = parts_of(bytes);
    if (parts.size() <= own_parts) return {};
    return {std::string(parts[0]), object_in(parts[1]), object_in(parts[2]), object_in(parts[3]), object_in(parts[4])};
}

message read_text(std::string_view bytes)
{
    auto whole = object_in(bytes);
    const auto taken = [&](std::string_view name) {
        auto* member = whole.if_contains(name);
        return member != nullptr && member->is_object() ? std::move(member->get_object()) : json::object();
    };
    return {text_of(whole, "channel"), taken("header"), taken("parent_header"), taken("metadata"), taken("content")};
}

// A long content is copied once, into the message.
std::string write_v1(const message& from, std::string_view content)
{
    const std::array<std::string, own_parts> heads{from.channel, jsonrpc::write_json(from.header),
                                                   jsonrpc::write_json(from.parent),
                                                   jsonrpc::write_json(from.metadata)};
    const std::array<std::string_view, own_parts + 1> parts{heads[0], heads[1], heads[2], heads[3], content};
    std::uint64_t offset = word * (1 + fewest_offsets);
    std::string bytes;
    bytes.reserve(std::accumulate(parts.begin(), parts.end(), std::size_t{offset},
                                  [](std::size_t sum, std::string_view part) { return sum + part.size(); }));
    append_number(bytes, fewest_offsets);
    append_number(bytes, offset);
    for (const auto& part : parts) append_number(bytes, offset += part.size());
    for (const auto& part : parts) bytes += part;
    return bytes;
}

// Clients look for the type and the id beside the header, too.
std::string write_text(const message& from, std::string_view content)
{
    constexpr std::string_view member = ",\"content\":";
    json::object whole{{"channel", from.channel},
                       {"header", from.header},
                       {"parent_header", from.parent},
                       {"metadata", from.metadata},
                       {"buffers", json::array()},
                       {"msg_type", text_of(from.header, "msg_type")},
                       {"msg_id", text_of(from.header, "msg_id")}};
    std::string text = jsonrpc::write_json(whole);
    text.pop_back();
    text.reserve(text.size() + member.size() + content.size() + 1);
    return text.append(member).append(content).append("}");
}

}  // namespace

std::string_view message::type() const { return view_of(header, "msg_type"); }

std::optional<message> read_message(std::string_view bytes, framing as)
{
    auto heard = as == framing::v1 ? read_v1(bytes) : read_text(bytes);
    if (heard.type().empty()) return std::nullopt;
    if (heard.channel.empty()) heard.channel = "shell";
    heard.size = bytes.size();
    if (heard.size > longest_header && jsonrpc::write_json(heard.header).size() > longest_header) return std::nullopt;
    return heard;
}

std::string write_message(const message& from, framing as)
{
    const std::string written = from.content_text.empty() ? jsonrpc::write_json(from.content) : std::string();
    const std::string_view content = written.empty() ? from.content_text : written;
    return as == framing::v1 ? write_v1(from, content) : write_text(from, content);
}

json::object new_header(std::string_view type, std::string_view session)
{
    return {{"msg_id", new_uuid()}, {"msg_type", type}, {"username", "kernel"},
            {"session", session},   {"version", "5.3"}, {"date", timestamp(std::chrono::system_clock::now())}};
}

std::string new_uuid()
{
    std::array<unsigned char, 16> bytes{};
    fill_random(bytes);
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
    std::string text = hex_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, 1, '-');
    return text;
}

}  // namespace cmcp::jupyter
