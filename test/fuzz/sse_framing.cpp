// Server-sent events and the event log: a reader that follows the standard gets back exactly the message with its id,
// whatever the text holds, and the log replays only later events of the same stream.
#include "transport/event_log.hpp"
#include "transport/sse_frame.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace cmcp;

struct read_event {
    std::string id;
    std::string data;
    int events = 0;
};

// Lines end with LF, CR or CRLF; data lines are joined by LF (HTML Living Standard section 9.2.6).
read_event read(std::string_view stream)
{
    read_event event;
    bool first = true;
    while (!stream.empty()) {
        auto end = stream.find_first_of("\r\n");
        auto line = stream.substr(0, end);
        stream.remove_prefix(end == std::string_view::npos ? stream.size() : end + 1);
        if (line.empty()) ++event.events;
        if (line.rfind("id: ", 0) == 0) event.id = line.substr(4);
        if (line.rfind("data: ", 0) != 0) continue;
        event.data += (first ? "" : "\n") + std::string(line.substr(6));
        first = false;
    }
    return event;
}

std::string with_plain_line_ends(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
        out += text[i] == '\r' ? '\n' : text[i];
    }
    return out;
}

void check_log(std::string_view script)
{
    auto budget = std::make_shared<memory_budget>();
    event_log log(2000, budget->of("anna"));
    std::uint64_t sequence = 0;
    for (auto c : script) {
        auto stream = static_cast<std::uint32_t>(c & 3);
        log.add({stream, ++sequence}, std::make_shared<const std::string>(static_cast<unsigned char>(c), 'x'));
        if (log.bytes() > 2000 || budget->used() != log.bytes()) std::abort();
    }
    for (const auto& each : log.after({1, sequence / 2}))
        if (each.id.stream != 1 || each.id.sequence <= sequence / 2) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::string stream;
    append_event(stream, "message", text, event_id{3, 7});
    auto event = read(stream);
    if (event.events != 1 || event.id != "3-7" || event.data != with_plain_line_ends(text)) std::abort();
    auto id = parse_event_id(text);
    if (id && to_string(*id) != text) std::abort();
    check_log(text.substr(0, 200));
    return 0;
}
