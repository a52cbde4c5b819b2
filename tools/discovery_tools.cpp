#include "jsonrpc/read_object.hpp"
#include "mcp/call_by_name.hpp"
#include "mcp/code_tools.hpp"
#include "mcp/tool_registry.hpp"
#include "tools/field.hpp"
#include "tools/tools.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t usual_rows = 5;
constexpr int most_rows = 20;
constexpr std::int64_t longest_words = 1000;

// A tool as its caller's list would describe it, but for what a client does with it.
json::object described(const tool_definition& tool)
{
    json::object row{{"name", tool.name}, {"title", tool.title}, {"description", tool.description}};
    auto schema = tool.listed_schema.empty() ? tool.input_schema : tool.listed_schema;
    if (auto* properties = schema.if_contains("properties"); properties != nullptr && properties->is_object())
        for (auto& each : properties->get_object())
            if (auto* property = each.value().if_object()) property->erase("x-mcp-header");
    row["input_schema"] = std::move(schema);
    if (tool.annotations.read_only) row["read_only"] = true;
    if (tool.annotations.destructive && !tool.annotations.read_only) row["destructive"] = true;
    return row;
}

std::vector<tool_for_code> callable(const tool_registry& tools, const caller& who)
{
    std::vector<tool_for_code> all;
    for (const auto& each : tools.all()) {
        const auto& tool = each->definition();
        if (!tool.for_code_alone && !tool.leads_to_others && who.scopes.covers(tool.needs))
            all.push_back(std::make_shared<const json::object>(described(tool)));
    }
    return all;
}

// Names are found by their words, too.
std::string words_of(std::string query)
{
    std::replace_if(
        query.begin(), query.end(), [](char c) { return c == '_' || c == ',' || c == '.' || c == '\n' || c == '"'; },
        ' ');
    return query;
}

json::array names_of(const std::vector<tool_for_code>& tools)
{
    json::array names;
    for (const auto& each : tools) names.push_back(each->at("name"));
    return names;
}

// The tool of that very name comes first.
std::vector<tool_for_code> fitting(const std::vector<tool_for_code>& all, std::string_view name, std::string_view words,
                                   std::size_t most)
{
    auto fits = best_fits(all, words, all.size());
    std::stable_partition(fits.begin(), fits.end(),
                          [name](const auto& each) { return view_of(*each, "name") == name; });
    fits.resize(std::min(fits.size(), most));
    return fits;
}

struct search_input {
    std::string query;
    std::size_t limit = usual_rows;
};

class search_tools final : public tool {
public:
    explicit search_tools(const tool_registry& tools) : tools_(tools)
    {
        about_.name = "search_tools";
        about_.title = "Find tools";
        about_.description =
            "Find tools by words, with their arguments; call_tool calls them. There are tools for sandboxes, shell and "
            "Python, files, packages, web "
            "pages, ports and background jobs.";
        about_.input_schema = input_schema(its_fields());
        about_.listed_schema = listed_schema(its_fields());
        about_.output_schema = schema::output(
            {{"tools", schema::array("The best first: name, title, description, input_schema, read_only or destructive",
                                     schema::object("", {}))},
             {"names", schema::array("Where none fits: all there are", schema::string(""))},
             {"note", schema::string("What to do where none fits")}},
            {"tools"});
        about_.needs = scope::read;
        about_.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
        about_.leads_to_others = true;
    }

    const tool_definition& definition() const override { return about_; }

    awaitable<tool_result> call(tool_context& context, json::object arguments) override
    {
        const auto input = read_input(its_fields(), arguments);
        const auto all = callable(tools_, context.who);
        const auto words = words_of(input.query);
        const bool any = words.find_first_not_of(' ') != std::string::npos;
        tool_result result;
        auto& rows = result.structured["tools"].emplace_array();
        if (any)
            for (const auto& each : fitting(all, input.query, words, input.limit)) rows.emplace_back(*each);
        if (rows.empty()) {
            result.structured["names"] = names_of(all);
            result.structured["note"] = any ? "No tool fits these words; the names are those of all. Search for one of "
                                              "them to see its arguments."
                                            : "Search for words, or for a name, to see the arguments.";
        }
        co_return result;
    }

private:
    static fields<search_input> its_fields()
    {
        using input = search_input;
        return {{"query", &input::query, "Words, or a name; empty: all names", rule::example("run python"),
                 json::object{{"maxLength", longest_words}}},
                {"limit", &input::limit, "Most tools, 5 by default", rule::between(1, most_rows), rule::unlisted}};
    }

    const tool_registry& tools_;
    tool_definition about_;
};

// A call that does is another tool's before it comes here (mean_named_tool), so this one tells what does not do.
class call_tool final : public tool {
public:
    explicit call_tool(const tool_registry& tools) : tools_(tools)
    {
        about_.name = call_tool_name;
        about_.title = "Call a tool";
        about_.description = "Call a tool that search_tools found.";
        about_.input_schema =
            schema::object("",
                           {{"name", schema::typed("string", "", {{"examples", json::array{"execute_python_code"}}})},
                            {"arguments", schema::typed("object", "As its input_schema says")}},
                           {"name"});
        about_.listed_schema = lean_schema(about_.input_schema);
        about_.needs = scope::read;
        about_.may_show_images = true;
        about_.leads_to_others = true;
    }

    const tool_definition& definition() const override { return about_; }

    awaitable<tool_result> call(tool_context& context, json::object arguments) override
    {
        const std::string name = text_of(arguments, "name").substr(0, 100);
        const auto* named = tools_.find(name);
        std::string sentence;
        if (named != nullptr && named->definition().leads_to_others) {
            sentence = name + " is not called through " + call_tool_name + ": call it itself.";
        } else if (named != nullptr && !named->definition().for_code_alone) {
            sentence = "`arguments` must be an object, as the input_schema of " + name + " says.";
        } else {
            sentence = "There is no tool \"" + name + "\".";
            const auto near = best_fits(callable(tools_, context.who), words_of(name), usual_rows);
            for (const auto& each : near)
                sentence.append(each == near.front() ? " Is one of these meant: " : ", ")
                    .append(view_of(*each, "name"));
            sentence += near.empty() ? " search_tools finds those that there are." : "?";
        }
        co_return tool_failure(std::move(sentence));
    }

private:
    const tool_registry& tools_;
    tool_definition about_;
};

}  // namespace

void add_discovery_tools(tool_registry& registry)
{
    registry.add(std::make_unique<search_tools>(registry));
    registry.add(std::make_unique<call_tool>(registry));
}

}  // namespace cmcp
