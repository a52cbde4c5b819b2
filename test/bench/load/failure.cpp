#include "load/failure.hpp"

#include "jsonrpc/json.hpp"

namespace cmcp::load {

namespace {

std::string_view view_of(const json::string& text) { return {text.data(), text.size()}; }

std::string_view first_words(const json::object& from, std::initializer_list<const char*> keys)
{
    for (const auto* key : keys) {
        const auto* value = from.if_contains(key);
        if (value != nullptr && value->is_string() && !value->get_string().empty()) return view_of(value->get_string());
    }
    return {};
}

std::string of_run(const json::object& run)
{
    std::string text;
    const auto* code = run.if_contains("exit_code");
    if (code != nullptr && code->is_number()) text = "exit code " + json::serialize(*code);
    auto words = first_words(run, {"error", "message", "stderr", "output", "stdout"});
    if (!words.empty()) text.append(text.empty() ? "" : ": ").append(words);
    return text;
}

json::object parsed_object(std::string_view text)
{
    boost::system::error_code error;
    auto parsed = json::parse(json::string_view(text.data(), text.size()), error);
    return !error && parsed.is_object() ? std::move(parsed.get_object()) : json::object();
}

std::string_view text_of_content(const json::value& content)
{
    const auto* items = content.if_array();
    if (items == nullptr || items->empty() || !items->front().is_object()) return {};
    return first_words(items->front().get_object(), {"text"});
}

std::string of_content(const json::value& content)
{
    auto text = text_of_content(content);
    auto run = of_run(parsed_object(text));
    return run.empty() ? std::string(text) : run;
}

const json::object* object_in(const json::object& from, std::string_view key)
{
    const auto* value = from.if_contains(json::string_view(key.data(), key.size()));
    return value == nullptr ? nullptr : value->if_object();
}

std::string of_result(const json::object& result)
{
    if (const auto* run = object_in(result, "structuredContent"))
        if (auto text = of_run(*run); !text.empty()) return text;
    const auto* content = result.if_contains("content");
    return content == nullptr ? std::string() : of_content(*content);
}

std::string of_answer(const json::object& answer)
{
    if (const auto* error = object_in(answer, "error")) return std::string(first_words(*error, {"message"}));
    if (const auto* result = object_in(answer, "result")) return of_result(*result);
    return std::string(first_words(answer, {"error", "message", "detail"}));
}

// A revision without structuredContent has the members in the first text.
json::object members_of(const json::object& result)
{
    if (const auto* members = object_in(result, "structuredContent")) return *members;
    const auto* content = result.if_contains("content");
    return content == nullptr ? json::object() : parsed_object(text_of_content(*content));
}

bool is_word(std::string_view text)
{
    constexpr std::size_t longest_word = 40;
    constexpr auto letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return text.size() <= longest_word && text.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace

void failure_counts::add(const failure& one, std::uint64_t times)
{
    auto& kind = kinds_[one.kind];
    if (kind.first_text.empty()) kind.first_text = one.text;
    kind.count += times;
}

void failure_counts::merge(const failure_counts& other)
{
    for (const auto& [kind, seen] : other.kinds_) add({kind, seen.first_text}, seen.count);
}

std::uint64_t failure_counts::sum() const
{
    std::uint64_t all = 0;
    for (const auto& [kind, seen] : kinds_) all += seen.count;
    return all;
}

std::string one_line(std::string_view text)
{
    constexpr std::size_t longest = 240;
    std::string line;
    for (unsigned char c : text.substr(0, 4 * longest)) {
        bool blank = c <= ' ' || c == 0x7f;
        bool next_character = (c & 0xc0) != 0x80;
        if (line.size() >= longest && next_character) return line + "…";
        if (!blank)
            line += static_cast<char>(c);
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    while (line.ends_with(' ')) line.pop_back();
    return line;
}

std::string failure_text(std::string_view answer)
{
    auto text = of_answer(parsed_object(answer));
    return one_line(text.empty() ? answer : std::string_view(text));
}

std::string error_type(std::string_view answer)
{
    auto parsed = parsed_object(answer);
    const auto* result = object_in(parsed, "result");
    if (result == nullptr) return {};
    auto members = members_of(*result);
    auto type = first_words(members, {"error_type"});
    return is_word(type) ? std::string(type) : std::string();
}

}  // namespace cmcp::load
