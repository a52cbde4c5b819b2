#include "mcp/stateless_era.hpp"

#include "jsonrpc/absent.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/attempt_state.hpp"
#include "mcp/client_capability.hpp"
#include "mcp/held_subscription.hpp"
#include "mcp/icons.hpp"
#include "mcp/methods.hpp"
#include "mcp/params.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/server_core.hpp"
#include "mcp/tasks/job_attempt.hpp"
#include "mcp/tasks/task_view.hpp"

#include <boost/system/system_error.hpp>

namespace cmcp {

namespace {

constexpr std::size_t most_subscriptions = 1000;
constexpr std::size_t longest_label = 1000;  // more than job_label() keeps
constexpr std::int64_t list_lifetime_ms = 60'000;

// SEP-2549: how long and for whom a result may be cached. Resources belong to their caller and change as tools run;
// `own_tools`: principals are shown tools of their own; `own_format`: this client gets tools without output schemas.
void add_cache_hints(json::object& result, std::string_view method, bool own_tools, bool own_format)
{
    const bool of_caller = method == "resources/list" || method == "resources/read";
    const bool of_tools = method == "server/discover" || method == "tools/list";
    const bool lasting = of_tools || method == "prompts/list" || method == "resources/templates/list";
    if (!of_caller && !lasting) return;
    result["ttlMs"] = lasting ? list_lifetime_ms : 0;
    const bool own_list = (of_tools && own_tools) || (method == "tools/list" && own_format);
    result["cacheScope"] = of_caller || own_list ? "private" : "public";
}

void add_server_info(json::object& result, const server_identity& identity)
{
    auto& meta = result["_meta"];
    if (!meta.is_object()) meta.emplace_object();
    auto described = describe_server(identity, revision::v2026_07_28, result.storage());
    if (result.contains("supportedVersions")) described["icons"] = server_icons();  // once, and not with each result
    meta.get_object()[reserved_name::server_info] = std::move(described);
}

bool flag(const json::object& filter, std::string_view name)
{
    const auto* value = filter.if_contains(name);
    return value && value->is_bool() && value->get_bool();
}

// The strings of one list of a SubscriptionFilter.
std::set<std::string, std::less<>> names_in(const json::object& filter, std::string_view member)
{
    std::set<std::string, std::less<>> names;
    const auto* list = jsonrpc::given(filter, member, json::kind::array);
    if (!list) return names;
    const std::string sentence = "Invalid params: `notifications." + std::string(member) +
                                 "` must be an array of at most " + std::to_string(most_subscriptions) + " strings";
    if (!list->is_array() || list->get_array().size() > most_subscriptions)
        throw rpc_error(rpc_code::invalid_params, sentence);
    for (const auto& name : list->get_array()) {
        if (!name.is_string()) throw rpc_error(rpc_code::invalid_params, sentence);
        names.emplace(name.get_string());
    }
    return names;
}

bool may_ask(std::string_view method)
{
    return method == "tools/call" || method == "prompts/get" || method == "resources/read";
}

void check_input_requests(const caller& who, const json::object& input_requests)
{
    for (const auto& member : input_requests) {
        const auto& input_request = member.value().as_object();
        require_capability(who, input_request.at("method").as_string(), optional_object(input_request, "params"));
    }
}

void add_answers(json::object& known, const json::object& answers)
{
    for (const auto& member : answers) known[member.key()] = member.value();
}

// The arguments are the owner's own: they tell its tasks apart.
job_record description_of(const stateless_request& request)
{
    job_record description;
    description.owner = request.own.principal;
    description.tool = std::string(request.params.at("name").as_string());
    description.label = job_label(jsonrpc::json_beginning(object_of(request.params, "arguments"), longest_label));
    return description;
}

// A caller that asked for progress watches its stream, which a task would end.
std::chrono::milliseconds patience(const stateless_request& request, const task_limits& limits)
{
    if (!declares_tasks(request.own)) return std::chrono::milliseconds(0);
    return jsonrpc::given(request.meta(), "progressToken", json::kind::string) ? std::chrono::milliseconds(0)
                                                                               : limits.after;
}

json::object result_of_work(outcome ending)
{
    if (ending.error) throw *ending.error;
    if (!ending.result) throw boost::system::system_error(asio::error::operation_aborted);
    return std::move(*ending.result);
}

stateless_request& as_stateless(running_request& request) { return static_cast<stateless_request&>(request); }

// The request that waits has given its params to the work, and is to be recorded with its arguments.
class params_on_loan {
public:
    params_on_loan(stateless_request& to, std::shared_ptr<stateless_request> work, std::shared_ptr<task_call> call)
        : to_(to), work_(std::move(work)), call_(std::move(call))
    {
        to_.params["name"] = work_->params.at("name");  // which a request state is bound to
    }
    params_on_loan(const params_on_loan&) = delete;
    params_on_loan& operator=(const params_on_loan&) = delete;
    ~params_on_loan()
    {
        if (!call_->became())
            to_.params = std::move(work_->params);
        else if (const auto* sent = work_->arguments(); sent != nullptr && !to_.is_long)
            to_.params["arguments"] = *sent;
    }

private:
    stateless_request& to_;
    std::shared_ptr<stateless_request> work_;
    std::shared_ptr<task_call> call_;
};

// Work that may become a task refers to itself by its channel, and by the server and its job.
awaitable<> carry_out(std::shared_ptr<task_call> call, std::shared_ptr<stateless_request> work,
                      awaitable<json::object> result)
{
    struct end_of_work {
        stateless_request& of;
        ~end_of_work()
        {
            of.channel.reset();
            of.keeps.reset();
        }
    } at_end{*work};
    co_await task_call::carry_out(std::move(call), std::move(result));
}

}  // namespace

std::shared_ptr<running_request> stateless_era::make(jsonrpc::request incoming, const peer& from) const
{
    auto request = std::make_shared<stateless_request>(std::move(incoming), from.who);
    request->spoken = from.spoken;
    return request;
}

void stateless_era::check(running_request& request) const
{
    as_stateless(request).read_meta();
    const auto& method = request.method;
    const bool known = method == "server/discover" || method == listen_method || find_shared_method(method) ||
                       find_task_method(method);
    if (!known || !offers(offered_, method)) refuse_method(method);
}

bool stateless_era::may_go_on(const stateless_request& request) const
{
    if (request.method != "tools/call") return false;
    const auto* name = request.params.if_contains("name");
    if (!name || !name->is_string()) return false;
    const auto* called = offered_.tools.find(std::string_view(name->get_string()));
    if (!called || called->definition().tasks == task_use::never) return false;
    return declares_tasks(request.own) || request.own.client_capabilities.contains("elicitation");
}

// `reply` is where the call's notifications go; `becoming` null: it cannot become a task.
void stateless_era::prepare(stateless_request& request, std::shared_ptr<message_sink> reply,
                            std::shared_ptr<task_call> becoming) const
{
    attempt_state state;
    if (may_ask(request.method)) state = attempt_state::from(request, states_);
    request.channel.emplace(request.own, std::move(reply), &request.meta(), request.log_level, state.answers,
                            std::move(becoming));
    request.channel->serve(request.ids.own);
    request.context.emplace(tool_context{request.own, *request.channel, request.ids.own, std::move(state.answers),
                                         std::move(state.tool_state)});
}

awaitable<json::object> stateless_era::attempt(running_request& served)
{
    auto& request = as_stateless(served);
    if (!request.context) {
        if (request.method == "server/discover") return finished(discover(request.own));
        if (const auto function = find_task_method(request.method)) return function(tasks_, request);
        if (request.method == "tools/call" && jsonrpc::given(request.params, "requestState", json::kind::double_))
            if (auto state = attempt_state::from(request, states_); !state.job.empty())
                return go_on(tasks_, request, std::move(state), states_);
        if (may_go_on(request)) return attempt_detachable(request);
        prepare(request, request.reply, nullptr);
    }
    return find_shared_method(request.method)(offered_, request);
}

// The node's answer is the client's, whatever it is: a task, or an input request that the client answers with a new
// call.
awaitable<json::object> stateless_era::attempt_on(running_request& request, std::string node)
{
    return call_elsewhere(offered_, request, std::move(node), request.params);
}

awaitable<json::object> stateless_era::attempt_detachable(stateless_request& request)
{
    const auto limit = patience(request, tasks_.limits());
    auto description = description_of(request);
    auto work = std::make_shared<stateless_request>(request);
    request.worker = work;
    auto call = std::make_shared<task_call>(tasks_, std::move(description), work);
    const params_on_loan loan(request, work, call);
    prepare(*work, request.reply, call);
    tasks_.jobs().run(request.method, carry_out(call, work, result_of(work, offered_)), work);
    co_await call->wait(limit);
    if (call->became() && declares_tasks(request.own)) co_return task_of(request, call->became()->record());
    if (call->became()) {
        auto result = co_await wait_for_job(tasks_, request, call->became()->record().id, states_);
        co_return result;
    }
    request.facts = std::move(work->facts);
    co_return result_of_work(call->take_ending());
}

json::object stateless_era::task_of(stateless_request& request, const job_record& record) const
{
    request.task = record.id;
    auto result = tasks_.describe(record);
    result["resultType"] = "task";
    return result;
}

awaitable<std::optional<json::object>> stateless_era::ask(running_request& served, input_required needed)
{
    auto& request = as_stateless(served);
    check_input_requests(request.own, needed.input_requests);
    auto answers = co_await request.channel->ask_and_wait(needed.input_requests);
    if (!answers) co_return input_required_result(request, needed, request.channel->used(), states_);
    add_answers(request.context->input_responses, *answers);
    request.context->request_state = needed.request_state;
    co_return std::nullopt;
}

void stateless_era::complete(const running_request& request, json::object& result) const
{
    if (!result.contains("resultType")) {
        result["resultType"] = "complete";
        add_cache_hints(result, request.method,
                        offered_.tools.profiles().by_principal() || !request.who->principal.empty(),
                        formatted_for_client(*request.who, offered_.format));
    }
    add_server_info(result, offered_.identity);
}

std::shared_ptr<canceller> stateless_era::listen(running_request& served, request_register& requests,
                                                 task_group& answers, std::shared_ptr<session> from)
{
    auto& request = as_stateless(served);
    auto held = std::make_shared<held_subscription>(request, answers, changes_);
    requests.admit(*held, std::move(from), request.own.principal);
    held->reply = std::move(request.reply);
    try {
        const auto observe = [this, &request](const change& what, const change_listener::heard_function& heard) {
            if (what.method == task_changed) return observe_task(request, what, heard);
            return offered_.observe(request.own, what.uri, [heard] { heard({}); });
        };
        held->begin(filter_of(request), observe, [this, held] { held->finish(end_of_subscription(held->id)); });
    } catch (const rpc_error& refused) {
        outcome done;
        done.error = std::make_unique<rpc_error>(refused);
        held->finish(std::move(done));
    }
    return held;
}

outcome stateless_era::end_of_subscription(const json::value& id) const
{
    json::object meta;
    meta[reserved_name::subscription_id] = id;
    outcome done;
    auto& result = done.result.emplace();
    result["_meta"] = std::move(meta);
    result["resultType"] = "complete";
    add_server_info(result, offered_.identity);
    return done;
}

change_filter stateless_era::filter_of(const stateless_request& request) const
{
    const auto& wanted = required_object(request.params, "notifications");
    change_filter filter;
    filter.tools = flag(wanted, "toolsListChanged");
    filter.prompts = flag(wanted, "promptsListChanged") && !offered_.prompts.empty();
    if (!offered_.providers.empty()) filter.resources = names_in(wanted, "resourceSubscriptions");
    for (const auto& id : names_in(wanted, "taskIds")) {
        require_tasks_extension(request.own);
        const auto task = tasks_.jobs().find(id);
        const bool is_own = task && task->owner == request.own.principal;
        if (is_own || !node_of_task(request, id).empty()) filter.tasks.insert(id);
    }
    return filter;
}

// Whose it is, is judged there.
std::string stateless_era::node_of_task(const stateless_request& request, std::string_view id) const
{
    return offered_.nodes == nullptr || request.passed_on ? std::string() : offered_.nodes->owner_of(id);
}

std::shared_ptr<void> stateless_era::observe_task(const stateless_request& request, const change& what,
                                                  const change_listener::heard_function& heard) const
{
    auto node = node_of_task(request, what.uri);
    return node.empty() ? nullptr : offered_.nodes->observe(request.own, std::move(node), what, heard);
}

json::object stateless_era::discover(const caller& who) const
{
    json::array versions;
    versions.emplace_back(to_string(revision::v2026_07_28));
    json::object result;
    result["supportedVersions"] = std::move(versions);
    result["capabilities"] = capabilities_of(offered_, revision::v2026_07_28);
    if (const auto text = offered_.instructions_for(who); !text.empty()) result["instructions"] = text;
    return result;
}

}  // namespace cmcp
