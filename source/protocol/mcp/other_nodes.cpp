#include "mcp/other_nodes.hpp"

#include "jsonrpc/read_object.hpp"
#include "mcp/catalogue.hpp"
#include "text/handles.hpp"

namespace cmcp {

namespace {

// The first of them that leads elsewhere.
std::string node_of_call(const json::object& params, const catalogue& offered)
{
    const auto* called = offered.tools.find(view_of(params, "name"));
    if (called == nullptr) return {};
    const auto& properties = object_of(called->definition().input_schema, "properties");
    for (const auto& argument : object_of(params, "arguments")) {
        if (!argument.value().is_string() || !object_of(properties, argument.key()).contains("x-mcp-header")) continue;
        auto node = offered.nodes->owner_of(argument.value().get_string());
        if (!node.empty()) return node;
    }
    return {};
}

// A word instead of a handle.
bool is_name(std::string_view text) { return !text.empty() && handle_maker::node_of(text).empty(); }

bool takes_sandbox(const tool_definition& definition)
{
    return object_of(definition.input_schema, "properties").contains("sandbox_id");
}

constexpr std::string_view output_head = "out";
constexpr std::string_view default_name = "default";
constexpr std::string_view home_node = "home";  // in the handles of default sandboxes

// Earlier versions named its files in the second way.
bool is_of_default(std::string_view uri)
{
    return uri.starts_with("sandbox://default/") || uri.starts_with("workspace:///");
}

// A file whose name is a handle is at the server that keeps it, in whichever sandbox: the rest of a long result.
std::string_view handle_in(std::string_view path)
{
    path.remove_prefix(path.rfind('/') + 1);
    const auto name = path.substr(0, path.find_first_of(".?"));
    return handle_maker::fits(output_head, name) ? name : std::string_view();
}

awaitable<std::string> node_of_default(const caller& who, other_nodes& nodes, std::string_view path)
{
    const auto handle = handle_in(path);
    std::string node;
    if (!handle.empty())
        node = nodes.owner_of(handle);
    else
        node = co_await nodes.home_of(who);
    co_return node;
}

// A server that is asked for labels of another form refuses them.
label_map labels_in(const json::object& arguments)
{
    const auto* wanted = arguments.if_contains("labels");
    std::vector<std::string> words;
    if (wanted != nullptr && wanted->is_string()) words.emplace_back(wanted->get_string());
    if (wanted != nullptr && wanted->is_array())
        for (const auto& each : wanted->get_array())
            if (each.is_string()) words.emplace_back(each.get_string());
    return read_labels(words).value_or(label_map());
}

// Of a call without a handle.
awaitable<std::string> node_of_subject(const running_request& request, const catalogue& offered)
{
    const auto* called = offered.tools.find(view_of(request.params, "name"));
    if (called == nullptr) co_return std::string();
    const auto& definition = called->definition();
    const auto& arguments = object_of(request.params, "arguments");
    const auto sandbox = view_of(arguments, "sandbox_id");
    auto& nodes = *offered.nodes;
    std::string node;
    if (is_name(sandbox) && takes_sandbox(definition))
        node = co_await nodes.node_with(*request.who, std::string(sandbox));
    if (sandbox == default_name && node.empty()) node = co_await nodes.home_of(*request.who);
    if (!sandbox.empty()) co_return node;
    if (definition.about == unnamed_subject::latest_sandbox)
        node = co_await nodes.node_with(*request.who, std::string());
    if (definition.about == unnamed_subject::new_sandbox) {
        other_nodes::wish needs{text_of(arguments, "image"), labels_in(arguments)};
        node = co_await nodes.node_for_new(*request.who, text_of(arguments, "name"), std::move(needs));
    }
    if (definition.about == unnamed_subject::default_sandbox)
        node = co_await node_of_default(*request.who, nodes, view_of(arguments, "path"));
    co_return node;
}

constexpr int seconds_until_retry = 5;

}  // namespace

// The HANDLE of sandbox://HANDLE/PATH
std::string_view authority_of(std::string_view uri)
{
    const auto begin = uri.find("://");
    if (begin == std::string_view::npos) return {};
    const auto authority = uri.substr(begin + 3);
    return authority.substr(0, authority.find('/'));
}

std::string node_of_resource(const caller& who, std::string_view uri, const other_nodes& nodes)
{
    if (is_of_default(uri) && handle_in(uri).empty()) return nodes.known_home_of(who);
    if (is_of_default(uri)) return nodes.owner_of(handle_in(uri));
    const auto authority = authority_of(uri);
    const bool is_local = handle_maker::node_of(authority) == home_node && !handle_in(uri).empty();
    return nodes.owner_of(is_local ? handle_in(uri) : authority);
}

tool_result no_answer(const std::string& node, const node_unreachable& why)
{
    const bool may_have_run = why.why == node_unreachable::cause::unanswered;
    auto result = tool_failure(std::string(why.what()) +
                               (may_have_run ? " The call may have run: look at what it changes before you call again."
                                             : " Call again in a moment."));
    if (may_have_run) result.structured["may_have_run"] = true;
    result.structured["error_type"] = why.type;
    result.structured["node"] = node;
    result.structured["retry_after"] = seconds_until_retry;
    return result;
}

// Whether it is about the caller's default sandbox, and not a file that stays where it is stored.
bool is_about_default(const running_request& request, const catalogue& offered)
{
    const auto uri = view_of(request.params, "uri");
    if (request.method == "resources/read") return is_of_default(uri) && handle_in(uri).empty();
    const auto* called = request.method == "tools/call" ? offered.tools.find(view_of(request.params, "name")) : nullptr;
    if (called == nullptr || request.who->code) return false;
    const auto& arguments = object_of(request.params, "arguments");
    const auto sandbox = view_of(arguments, "sandbox_id");
    if (sandbox == default_name) return takes_sandbox(called->definition());
    return called->definition().about == unnamed_subject::default_sandbox && sandbox.empty() &&
           handle_in(view_of(arguments, "path")).empty();
}

// The handle of the sandbox that the request is about; empty: it is about none.
std::string subject_of(const running_request& request, const catalogue& offered)
{
    if (is_about_default(request, offered)) return offered.nodes->default_sandbox_of(*request.who);
    std::string_view handle;
    if (request.method == "tools/call") handle = view_of(object_of(request.params, "arguments"), "sandbox_id");
    if (request.method == "resources/read") handle = authority_of(view_of(request.params, "uri"));
    return handle_maker::fits("sbx", handle) ? std::string(handle) : std::string();
}

// Of a request from another node, which may not have heard that the sandbox has gone from here to a third one.
std::string node_of_passed_on(const running_request& request, const catalogue& offered)
{
    const auto& nodes = *offered.nodes;
    const auto handle = subject_of(request, offered);
    auto node = handle.empty() ? std::string() : nodes.owner_of(handle);
    if (node.empty() || nodes.is_own(node)) return node;
    json::object data;
    data[moved_mark] = true;
    data[moved_to_mark] = node;
    throw rpc_error(rpc_code::server_error, "It is at another server.", json::value(std::move(data)));
}

namespace {

// Other methods read, or end what may be ended twice.
bool changes_nothing(const running_request& request, const catalogue& offered)
{
    if (request.method != "tools/call") return true;
    const auto* called = offered.tools.find(view_of(request.params, "name"));
    return called != nullptr && called->definition().annotations.read_only;
}

class movable_call final : public movable_request {
public:
    movable_call(const catalogue& offered, running_request& request, json::object params)
        : nodes_(*offered.nodes),
          request_(request),
          params_(std::make_shared<const json::object>(std::move(params))),
          handle_(subject_of(request, offered)),
          may_repeat_(changes_nothing(request, offered))
    {
    }

    awaitable<> try_at(std::string node) override
    {
        node_ = node;
        result_ = co_await nodes_.call(request_, std::move(node), params_);
        request_.facts.failed = flag_of(result_, "isError");
        request_.facts.bytes = call_facts::bytes_in(result_);
    }

    awaitable<std::optional<std::string>> find_again(std::string node, moment tried) override
    {
        std::optional<std::string> next;
        if (!handle_.empty()) next = co_await nodes_.find_again(handle_, std::move(node), tried);
        co_return next;
    }

    bool may_repeat() const override { return may_repeat_; }

    const std::string& node() const { return node_; }  // the last one that was tried
    json::object take_result() { return std::move(result_); }

private:
    other_nodes& nodes_;
    running_request& request_;
    other_nodes::shared_params params_;
    std::string handle_;
    bool may_repeat_;
    std::string node_;
    json::object result_;
};

}  // namespace

awaitable<json::object> call_elsewhere(const catalogue& offered, running_request& request, std::string node,
                                       json::object params)
{
    const bool calls_tool = request.method == "tools/call";
    if (calls_tool) request.facts.note_arguments(object_of(request.params, "arguments"));
    movable_call call(offered, request, std::move(params));
    std::optional<node_unreachable> problem;
    try {
        co_await try_nodes(call, std::move(node));
    } catch (const node_unreachable& failure) {
        problem = failure;
    }
    if (!problem) co_return call.take_result();
    if (!calls_tool) throw rpc_error(rpc_code::server_error, problem->what());
    auto failed = no_answer(call.node(), *problem);
    request.facts.note_result(failed);
    const auto reader = request.is_program ? result_reader::program : result_reader::model;
    co_return describe_tool_result(std::move(failed), *request.who, offered.format, reader);
}

namespace {

// Code that names no sandbox means its own.
bool means_own_sandbox(const running_request& request, const catalogue& offered)
{
    const auto* called = request.method == "tools/call" ? offered.tools.find(view_of(request.params, "name")) : nullptr;
    return called != nullptr && called->definition().about == unnamed_subject::default_sandbox &&
           view_of(object_of(request.params, "arguments"), "sandbox_id").empty();
}

// Another server would not know that code asks, so what code may not reach elsewhere is not asked for there.
bool must_stay_here(const running_request& request, const catalogue& offered)
{
    const auto* from = request.who->code.get();
    if (from == nullptr) return false;
    if (means_own_sandbox(request, offered)) return true;
    return !from->sandboxes || !from->network;
}

}  // namespace

awaitable<std::string> node_of(const running_request& request, const catalogue& offered)
{
    std::string node;
    if (offered.nodes == nullptr) co_return node;
    if (request.passed_on) co_return node_of_passed_on(request, offered);
    if (must_stay_here(request, offered)) co_return node;
    if (request.method == "tools/call") node = node_of_call(request.params, offered);
    if (request.method.starts_with("tasks/")) node = offered.nodes->owner_of(view_of(request.params, "taskId"));
    if (request.method == "resources/read") {
        const auto uri = view_of(request.params, "uri");
        node = node_of_resource(*request.who, uri, *offered.nodes);
        if (is_of_default(uri)) node = co_await node_of_default(*request.who, *offered.nodes, uri);
    }
    if (node.empty() && request.method == "tools/call") node = co_await node_of_subject(request, offered);
    co_return node;
}

}  // namespace cmcp
