#include "jsonrpc/absent.hpp"
#include "mcp/definitions.hpp"
#include "mcp/methods.hpp"
#include "mcp/pagination.hpp"
#include "mcp/params.hpp"

namespace cmcp {

namespace {

constexpr std::size_t most_completions = 100;

prompt& known_prompt(const catalogue& offered, const std::string& name)
{
    if (auto* known = offered.find_prompt(name)) return *known;
    throw rpc_error(rpc_code::invalid_params, "Unknown prompt: " + name.substr(0, 200));
}

bool is_required(const json::object& argument)
{
    const auto* flag = argument.if_contains("required");
    return flag && flag->is_bool() && flag->get_bool();
}

void check_arguments(const json::object& definition, const json::object& values)
{
    for (const auto& member : values)
        if (!member.value().is_string())
            throw rpc_error(rpc_code::invalid_params,
                            "Invalid params: argument `" + std::string(member.key()) + "` must be a string");
    const auto* arguments = definition.if_contains("arguments");
    if (!arguments || !arguments->is_array()) return;
    for (const auto& item : arguments->get_array()) {
        const auto& argument = item.as_object();
        const auto name = std::string(argument.at("name").as_string());
        if (is_required(argument) && !values.contains(name))
            throw rpc_error(rpc_code::invalid_params, "Invalid params: argument `" + name + "` is missing");
    }
}

json::object completion_of(json::array values)
{
    const auto total = values.size();
    if (total > most_completions) values.resize(most_completions);
    json::object completion;
    completion["values"] = std::move(values);
    completion["total"] = total;
    completion["hasMore"] = total > most_completions;
    json::object result;
    result["completion"] = std::move(completion);
    return result;
}

}  // namespace

awaitable<json::object> list_prompts(catalogue& offered, running_request& call)
{
    json::array prompts;
    for (const auto& item : offered.prompts) prompts.push_back(describe_prompt(item->definition(), call.who->protocol));
    co_return page_of(std::move(prompts), "prompts", call.params);
}

awaitable<json::object> get_prompt(catalogue& offered, running_request& call)
{
    const auto name = required_string(call.params, "name");
    auto& wanted = known_prompt(offered, name);
    auto arguments = jsonrpc::without_nulls(optional_object(call.params, "arguments"));
    check_arguments(wanted.definition(), arguments);
    json::object result = co_await wanted.get(*call.context, std::move(arguments));
    co_return describe_prompt_result(std::move(result), call.who->protocol);
}

awaitable<json::object> complete_argument(catalogue& offered, running_request& call)
{
    const auto& reference = required_object(call.params, "ref");
    const auto& argument = required_object(call.params, "argument");
    const auto name = required_string(argument, "name");
    const auto prefix = required_string(argument, "value");
    const auto type = required_string(reference, "type");
    if (type == "ref/prompt") {
        const auto prompt_name = required_string(reference, "name");
        const auto& wanted = known_prompt(offered, prompt_name);
        co_return completion_of(wanted.complete(name, prefix));
    }
    if (type != "ref/resource")
        throw rpc_error(rpc_code::invalid_params,
                        "Invalid params: `ref.type` must be \"ref/prompt\" or \"ref/resource\"");
    required_string(reference, "uri");
    co_return completion_of({});
}

}  // namespace cmcp
