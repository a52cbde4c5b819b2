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

std::string of_content(const json::value& content)
{
    const auto* items = content.if_array();
    if (items == nullptr || items->empty() || !items->front().is_object()) return {};
    auto text = first_words(items->front().get_object(), {"text"});
    boost::system::error_code error;
    auto inner = json::parse(json::string_view(text.data(), text.size()), error);
    auto run = !error && inner.is_object() ? of_run(inner.get_object()) : std::string();
    return run.empty() ? std::string(text) : run;
}

std::string of_result(const json::object& result)
{
    if (const auto* run = result.if_contains("structuredContent"); run != nullptr && run->is_object())
        if (auto text = of_run(run->get_object()); !text.empty()) return text;
    const auto* content = result.if_contains("content");
    return content == nullptr ? std::string() : of_content(*content);
}

std::string of_answer(const json::object& answer)
{
    if (const auto* error = answer.if_contains("error"); error != nullptr && error->is_object())
        return std::string(first_words(error->get_object(), {"message"}));
    if (const auto* result = answer.if_contains("result"); result != nullptr && result->is_object())
        return of_result(result->get_object());
    return std::string(first_words(answer, {"error", "message", "detail"}));
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
    boost::system::error_code error;
    auto parsed = json::parse(json::string_view(answer.data(), answer.size()), error);
    auto text = !error && parsed.is_object() ? of_answer(parsed.get_object()) : std::string();
    return one_line(text.empty() ? answer : std::string_view(text));
}

}  // namespace cmcp::load
