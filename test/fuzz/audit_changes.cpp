// An audit that somebody has changed, in whatever way, is not taken for whole; and no text makes its check fail
// otherwise.
#include "audit/chain_check.hpp"
#include "audit/record_text.hpp"
#include "audit/signing_key.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace cmcp;

struct small_audit {
    small_audit()
    {
        const audit::signing_key key(std::string(64, '7'));
        audit::chain lines;
        const auto add = [&](audit::kind is, log::fields with) {
            std::string fields;
            audit::append_fields(fields, with);
            lines.append(text,
                         {std::chrono::system_clock::time_point(std::chrono::seconds(1'800'000'000)), is, fields, {}},
                         is == audit::kind::head ? &key : nullptr);
        };
        const auto seal = [&] {
            const auto before = lines.last().text();
            add(audit::kind::head, {{"head", before}, {"key", key.public_key()}});
        };
        add(audit::kind::file, {{"previous", audit::no_digest}, {"key", key.public_key()}});
        add(audit::kind::start, {{"version", "1"}});
        for (const char* who : {"ann", "bob"}) add(audit::kind::call, {{"principal", who}, {"tool", "system_env_var"}});
        seal();
        add(audit::kind::stop, {});
        seal();
        end = lines.last();
    }

    std::string text;
    audit::chain_position end;
};

// As a check of a folder that knows the latest head.
bool is_taken_for_whole(std::string_view text, const audit::chain_position& end)
{
    audit::chain_check check;
    check.begin_file(1);
    for (auto newline = text.find('\n'); newline != std::string_view::npos; newline = text.find('\n')) {
        if (check.take(text.substr(0, newline))) return false;
        text.remove_prefix(newline + 1);
    }
    return !check.end_file(text, true) && text.empty() && check.last() == end && check.sealed() == end;
}

std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const auto newline = text.find('\n', at);
        const auto end = newline == std::string::npos ? text.size() : newline + 1;
        lines.push_back(text.substr(at, end - at));
        at = end;
    }
    return lines;
}

void change_lines(std::string& text, std::uint8_t how, std::size_t position, std::uint8_t other)
{
    auto lines = lines_of(text);
    if (lines.empty()) return;
    auto& one = lines[position % lines.size()];
    auto& two = lines[other % lines.size()];
    if (how % 3 == 0)
        one.clear();
    else if (how % 3 == 1)
        one += two;
    else
        std::swap(one, two);
    text.clear();
    for (const auto& line : lines) text += line;
}

void change(std::string& text, const std::uint8_t* of)
{
    const std::size_t position = of[1] * 256u + of[2];
    if (text.empty()) return;
    const auto at = position % text.size();
    if (of[0] % 4 == 0)
        text[at] = static_cast<char>(of[3]);
    else if (of[0] % 4 == 1)
        text.erase(at, 1u + of[3] % 64u);
    else if (of[0] % 4 == 2)
        text.insert(at, 1, static_cast<char>(of[3]));
    else
        change_lines(text, of[0] / 4, position, of[3]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const small_audit whole;
    auto changed = whole.text;
    for (std::size_t at = 0; at + 4 <= size; at += 4) change(changed, data + at);
    if (is_taken_for_whole(changed, whole.end) != (changed == whole.text)) std::abort();
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (is_taken_for_whole(text, whole.end) && text != whole.text) std::abort();
    audit::chain_check lenient;
    lenient.begin_file(1);
    for (const auto& line : lines_of(text)) {
        if (lenient.take(line)) lenient.trust(line);
        audit::is_signed_head(line);
    }
    return 0;
}
