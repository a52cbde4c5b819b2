// A client's file in JSON with comments: a text is either refused with its line, or an entry can be set, is there, and
// can be removed again.
#include "connect/json_text.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace cmcp;
    const connect::json_text::path ours{"mcpServers", "ours"};
    const json::value entry = json::object{{"url", "http://h/mcp"}, {"headers", json::object{{"A", "b"}}}};
    try {
        connect::json_text edited(std::string(reinterpret_cast<const char*>(data), size), true);
        edited.set(ours, entry);
        if (edited.find(ours) != entry) std::abort();
        const auto once = edited.text();
        edited.set(ours, entry);
        if (edited.text() != once) std::abort();
        if (!edited.remove(ours) || edited.find(ours)) std::abort();
    } catch (const connect::bad_text& refusal) {
        if (std::string_view(refusal.what()).substr(0, 5) != "line ") std::abort();
    }
    return 0;
}
