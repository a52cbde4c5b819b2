#include "transport/sse_frame.hpp"

#include "text/number.hpp"

namespace cmcp {

namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text)
{
    if (text.empty() || text.front() == '-' || (text.size() > 1 && text.front() == '0')) return std::nullopt;
    return read_number<Number>(text);
}

}  // namespace

std::string to_string(const event_id& id) { return std::to_string(id.stream) + '-' + std::to_string(id.sequence); }

std::optional<event_id> parse_event_id(std::string_view text)
{
    auto dash = text.find('-');
    if (dash == std::string_view::npos || text.size() > 41) return std::nullopt;
    const auto stream = parse_number<decltype(event_id::stream)>(text.substr(0, dash));
    const auto sequence = parse_number<decltype(event_id::sequence)>(text.substr(dash + 1));
    if (!stream || !sequence) return std::nullopt;
    return event_id{*stream, *sequence};
}

void append_event_head(std::string& out, std::string_view name, const std::optional<event_id>& id)
{
    if (id) out.append("id: ").append(to_string(*id)).append("\n");
    out.append("event: ").append(name).append("\ndata: ");
}

// Searching for one character at a time is many times faster than for either.
bool has_line_ends(std::string_view data)
{
    return data.find('\n') != std::string_view::npos || data.find('\r') != std::string_view::npos;
}

void append_event(std::string& out, std::string_view name, std::string_view data, const std::optional<event_id>& id)
{
    append_event_head(out, name, id);
    // Serialized JSON has no line ends of its own.
    for (bool more = has_line_ends(data); more; more = data.find_first_of("\r\n") != std::string_view::npos) {
        const auto end = data.find_first_of("\r\n");
        out.append(data.substr(0, end)).append("\ndata: ");
        const bool pair = data[end] == '\r' && data.substr(end + 1, 1) == "\n";
        data.remove_prefix(end + (pair ? 2 : 1));
    }
    out.append(data).append("\n\n");
}

void append_priming(std::string& out, const event_id& id, int retry_ms)
{
    out.append("id: ").append(to_string(id)).append("\n");
    out.append("retry: ").append(std::to_string(retry_ms)).append("\ndata: \n\n");
}

}  // namespace cmcp
