#include "mcp/code_tools.hpp"

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

bool holds(const json::object& tool, std::string_view member, std::string_view word)
{
    const auto* text = tool.if_contains(member);
    return text != nullptr && text->is_string() && lower_case(text->as_string()).find(word) != std::string::npos;
}

int fit(const json::object& tool, std::string_view word)
{
    constexpr int by_name = 4, by_title = 2, by_description = 1;
    return (holds(tool, "name", word) ? by_name : 0) + (holds(tool, "title", word) ? by_title : 0) +
           (holds(tool, "description", word) ? by_description : 0);
}

}  // namespace

json::object described_to_code(const tool_definition& tool)
{
    json::object about;
    about["name"] = tool.name;
    about["title"] = tool.title;
    about["description"] = tool.description;
    about["input_schema"] = tool.input_schema;
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

std::vector<json::object> best_fits(std::vector<json::object> tools, std::string_view words, std::size_t most)
{
    const std::string wanted = lower_case(words);
    std::vector<std::pair<int, json::object>> fitting;
    for (auto& each : tools) {
        int all = 0;
        for (const auto word : split(wanted, ' '))
            if (!word.empty()) all += fit(each, word);
        if (all > 0 || trimmed(words).empty()) fitting.emplace_back(all, std::move(each));
    }
    std::ranges::stable_sort(fitting, std::greater(), &std::pair<int, json::object>::first);
    std::vector<json::object> best;
    for (auto& [score, each] : fitting)
        if (best.size() < most) best.push_back(std::move(each));
    return best;
}

}  // namespace cmcp
