#include "mcp/code_tools.hpp"

#include "jsonrpc/read_object.hpp"
#include "text/ascii.hpp"
#include "text/star_pattern.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

bool word_means(std::string_view word, std::string_view tool, bool read_only)
{
    if (word == "read-only") return read_only;
    return word == "all" || fits_star_pattern(word, tool);
}

std::vector<std::string> words_in(std::string_view text)
{
    constexpr std::size_t most_words = 16;
    std::vector<std::string> words;
    for (const auto word : split(text, ' ')) {
        if (words.size() == most_words) break;
        if (!word.empty()) words.push_back(lower_case(word));
    }
    return words;
}

int fit(const json::object& tool, const std::vector<std::string>& words)
{
    constexpr std::pair<std::string_view, int> weights[] = {{"name", 4}, {"title", 2}, {"description", 1}};
    int all = 0;
    for (const auto& [member, weight] : weights) {
        const std::string text = lower_case(text_of(tool, member));
        for (const auto& word : words) all += text.find(word) != std::string::npos ? weight : 0;
    }
    return all;
}

constexpr std::string_view sandbox_argument = "sandbox_id";

bool names_sandbox(const json::value& name)
{
    return name.is_string() && std::string_view(name.get_string()) == sandbox_argument;
}

bool wants_sandbox(const tool_definition& tool)
{
    const auto* required = tool.input_schema.if_contains("required");
    return required != nullptr && required->is_array() && std::ranges::any_of(required->get_array(), names_sandbox);
}

json::object schema_for_code(const tool_definition& tool)
{
    json::object schema = tool.input_schema;
    if (!wants_sandbox(tool)) return schema;
    json::array required;
    for (const auto& name : tool.input_schema.at("required").get_array())
        if (!names_sandbox(name)) required.push_back(name);
    schema["required"] = std::move(required);
    return schema;
}

// `github.*` names the server github, `*` and `git*` none.
bool names_server_of(std::string_view word, std::string_view tool)
{
    const auto dot = tool.find('.');
    return dot != std::string_view::npos && word.substr(0, dot + 1) == tool.substr(0, dot + 1) &&
           fits_star_pattern(word, tool);
}

}  // namespace

json::object described_to_code(const tool_definition& tool)
{
    json::object about;
    about["name"] = tool.name;
    about["title"] = tool.title;
    about["description"] = tool.description;
    about["input_schema"] = schema_for_code(tool);
    if (!tool.output_schema.empty()) about["output_schema"] = tool.output_schema;
    about["read_only"] = tool.annotations.read_only;
    return about;
}

bool list_means(const std::vector<std::string>& list, std::string_view tool, bool read_only)
{
    bool named = false;
    for (const std::string_view word : list) {
        if (word.starts_with('!') && word_means(word.substr(1), tool, read_only)) return false;
        named = named || (!word.starts_with('!') && word_means(word, tool, read_only));
    }
    return named;
}

bool list_means_upstream(const std::vector<std::string>& list, std::string_view tool, const calling_code& from)
{
    if (!list_means(list, tool, false)) return false;
    return from.network ||
           std::ranges::any_of(list, [&](const std::string& word) { return names_server_of(word, tool); });
}

bool is_closed_and_read_only(const tool_definition& tool)
{
    return tool.annotations.read_only && !tool.annotations.open_world;
}

std::string overreach(const tool_definition& tool, const calling_code& from)
{
    if (tool.annotations.open_world && !tool.keeps_to_network && !from.network)
        return tool.name +
               " reaches beyond the sandbox, which code in it may not: ask its caller to do it. The operator lets code "
               "do it with SANDBOX_TOOLS_REACH_OUT=network.";
    return {};
}

void mean_own_sandbox(const tool_definition& tool, json::object& arguments, const calling_code& from)
{
    if (!wants_sandbox(tool)) return;
    auto& sandbox = arguments[sandbox_argument];
    const bool is_named = !sandbox.is_null() && !(sandbox.is_string() && sandbox.get_string().empty());
    if (!is_named) sandbox = from.sandbox;
}

std::vector<tool_for_code> best_fits(const std::vector<tool_for_code>& tools, std::string_view words, std::size_t most)
{
    const auto wanted = words_in(words);
    std::vector<std::pair<int, tool_for_code>> fitting;
    for (const auto& each : tools) {
        const int all = wanted.empty() ? 0 : fit(*each, wanted);
        if (all > 0 || wanted.empty()) fitting.emplace_back(all, each);
    }
    std::ranges::stable_sort(fitting, std::greater(), &std::pair<int, tool_for_code>::first);
    std::vector<tool_for_code> best;
    for (auto& [score, each] : fitting)
        if (best.size() < most) best.push_back(std::move(each));
    return best;
}

}  // namespace cmcp
