#include "audit/record_text.hpp"

#include "jsonrpc/plain_text.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/time_text.hpp"
#include "text/utf8_text.hpp"

#include <array>
#include <cstring>
#include <ctime>

namespace cmcp::audit {

namespace {

char* copy(char* to, std::string_view text)
{
    return static_cast<char*>(std::memcpy(to, text.data(), text.size())) + text.size();
}

// Most texts have nothing to escape, and the io thread has to write many of them.
void append_plain(std::string& out, std::string_view name, std::string_view text)
{
    constexpr std::string_view before_name = ",\"", before_text = "\":\"", end = "\"";
    const auto begin = out.size();
    out.resize(begin + before_name.size() + name.size() + before_text.size() + text.size() + end.size());
    char* to = copy(copy(out.data() + begin, before_name), name);
    copy(copy(copy(to, before_text), text), end);
}

void append_field(std::string& out, std::string_view name, const log::field_value& value)
{
    const auto* text = std::get_if<std::string_view>(&value);
    const auto text_start = text != nullptr ? text->substr(0, longest_text) : std::string_view();
    if (text != nullptr && jsonrpc::is_plain(text_start)) return append_plain(out, name, text_start);
    out.append(",\"").append(name).append("\":");
    if (text != nullptr)
        jsonrpc::append_json(out, text_start);
    else
        jsonrpc::append_json(out, std::get<json::value>(value));
}

}  // namespace

void append_fields(std::string& out, log::fields with)
{
    for (const auto& [name, value] : with)
        if (!std::holds_alternative<std::monostate>(value)) append_field(out, name, value);
}

// The seconds are formatted anew once a second.
void append_time(std::string& out, std::chrono::system_clock::time_point when)
{
    using namespace std::chrono;
    thread_local std::time_t of_text = -1;
    thread_local std::string text;
    const auto since = duration_cast<microseconds>(when.time_since_epoch()).count();
    const std::time_t seconds = since / 1'000'000;
    if (seconds != of_text) {
        text = utc_text(seconds, "%Y-%m-%dT%H:%M:%S.");
        of_text = seconds;
    }
    auto rest = static_cast<unsigned>(since % 1'000'000);
    std::array<char, 7> digits{'0', '0', '0', '0', '0', '0', 'Z'};
    for (std::size_t at = 6; at > 0; rest /= 10) digits[--at] = static_cast<char>('0' + rest % 10);
    out.append(text).append(digits.data(), digits.size());
}

}  // namespace cmcp::audit
