#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "async/sized_work.hpp"
#include "identity/quotas.hpp"
#include "jsonrpc/canonical_json.hpp"
#include "jsonrpc/json_reader.hpp"
#include "jsonrpc/json_size.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/arguments/lenient_arguments.hpp"
#include "mcp/arguments/long_arguments.hpp"
#include "mcp/client_capability.hpp"
#include "mcp/definitions.hpp"
#include "mcp/input_required.hpp"
#include "mcp/methods.hpp"
#include "mcp/pagination.hpp"
#include "mcp/params.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/result_budget.hpp"
#include "metrics/registry.hpp"
#include "text/utf8_text.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds no_wait(0);

tool& known_tool(const catalogue& offered, const std::string& name, bool to_code)
{
    auto* const known = offered.tools.find(name);
    if (known != nullptr && (to_code || !known->definition().for_code_alone)) return *known;
    throw rpc_error(rpc_code::invalid_params, "Unknown tool: " + name.substr(0, 200));
}

// A caller that takes no task is refused by a tool that cannot do without.
void check_task_use(const tool_definition& definition, running_request& call)
{
    if (definition.tasks != task_use::must || call.io().takes_task()) return;
    if (is_modern(call.who->protocol)) require_tasks_extension(*call.who);
    throw rpc_error(rpc_code::method_not_found,
                    "Tool " + definition.name +
                        " runs only as a task: call it with revision 2026-07-28 and the extension " +
                        std::string(tasks_extension));
}

// Cut, because the answer must not grow with what the call brought along.
void tell_ignored(tool_result& result, const std::vector<std::string>& names)
{
    constexpr std::size_t longest_name = 100;
    json::array shown;
    for (const auto& name : names) shown.emplace_back(utf8_prefix(name, longest_name));
    if (!result.content.empty())
        result.content.push_back(
            json::object{{"type", "text"}, {"text", "Arguments that are not known: " + jsonrpc::write_json(shown)}});
    if (result.content.empty() || !result.structured.empty()) result.structured["ignored_arguments"] = std::move(shown);
}

// A result on its way to what its caller is sent. What there is no room for is stored in between, where it can be.
class finishing {
public:
    finishing(tool_result result, std::size_t limit, const caller& who, result_format format, result_reader reader)
        : result_(std::move(result)), limit_(limit), format_(format), reader_(reader)
    {
        who_.protocol = who.protocol;
        who_.client_info = json::object(who.client_info, json::storage_ptr());
    }

    void measure() { rest_ = rest_of(result_, limit_); }
    std::string take_rest() { return std::exchange(rest_.text, {}); }
    bool has_rest() const { return !rest_.text.empty(); }

    /// `path`: where the rest is stored; empty: nowhere.
    void describe(const std::string& path)
    {
        if (rest_.needed) shorten(result_, limit_, rest_, path);
        described_ = describe_tool_result(std::move(result_), who_, format_, reader_);
        bytes_ = call_facts::bytes_in(described_);
    }

    std::size_t bytes() const { return bytes_; }
    json::object take() { return std::move(described_); }

private:
    tool_result result_;
    std::size_t limit_;
    caller who_;  // as far as the form depends on it
    result_format format_;
    result_reader reader_;
    result_rest rest_;
    json::object described_;
    std::size_t bytes_ = 0;
};

bool is_large(const tool_result& result)
{
    return jsonrpc::is_larger(result.structured, most_on_loop) || jsonrpc::is_larger(result.content, most_on_loop);
}

// The pool's threads take no memory of the message, which others may use meanwhile.
tool_result in_own_memory(tool_result result)
{
    tool_result own;
    own.structured = std::move(result.structured);
    own.content = std::move(result.content);
    own.meta = std::move(result.meta);
    own.is_error = result.is_error;
    own.text = std::move(result.text);
    return own;
}

awaitable<json::object> described_by_pool(catalogue& offered, running_request& call, blocking_pool& pool,
                                          std::shared_ptr<finishing> result)
{
    const std::string principal = call.who->principal;
    auto measure = [result, keeps = offered.keeper != nullptr] {
        result->measure();
        if (!keeps || !result->has_rest()) result->describe(std::string());
    };
    co_await pool.run(principal, std::move(measure));
    if (offered.keeper != nullptr && result->has_rest()) {
        auto path = co_await offered.keeper->keep(*call.who, result->take_rest());
        auto describe = [result, path = std::move(path)] { result->describe(path); };
        co_await pool.run(principal, std::move(describe));
    }
    call.facts.bytes = result->bytes();
    co_return result->take();
}

awaitable<tool_result> shortened(catalogue& offered, caller who, tool_result result, std::size_t limit,
                                 result_rest rest)
{
    std::string path;
    if (offered.keeper && !rest.text.empty()) {
        std::string text = std::exchange(rest.text, {});
        path = co_await offered.keeper->keep(std::move(who), std::move(text));
    }
    shorten(result, limit, rest, path);
    co_return result;
}

// The model reads it in the result, because a client may take an error of the protocol for the end of the server.
tool_result rate_limited(std::chrono::milliseconds wait)
{
    auto result = tool_failure(quotas::refusal_of_call(wait));
    result.structured["error_type"] = "RateLimited";
    result.structured["retry_after"] = quotas::seconds_to_wait(wait);
    return result;
}

// Counted also when the call is cancelled or throws.
class tool_figures {
public:
    tool_figures(call_history& history, const std::string& principal, const std::string& tool)
        : history_(history), principal_(principal), tool_(tool)
    {
        running().add(1);
    }
    tool_figures(const tool_figures&) = delete;
    tool_figures& operator=(const tool_figures&) = delete;
    ~tool_figures()
    {
        static auto& calls = metrics::all().counters("cmcp_tool_calls_total", "Tool calls by tool and how they ended.",
                                                     {"tool", "outcome"});
        static auto& times =
            metrics::all().histograms("cmcp_tool_call_seconds", "Time of tool calls by tool.", {"tool"});
        running().add(-1);
        history_.count(principal_, outcome_ != "ok");
        calls.at({tool_, outcome_}).add();
        times.at({tool_}).observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count());
    }

    void ended(const tool_result& result) { outcome_ = result.is_error ? "tool_error" : "ok"; }

private:
    static metrics::gauge& running()
    {
        static auto& number = metrics::all().gauges("cmcp_tool_calls_running", "Tool calls that run.").at();
        return number;
    }

    call_history& history_;
    const std::string& principal_;
    const std::string& tool_;
    std::string_view outcome_ = "aborted";
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

std::string first_line(const running_request& call)
{
    const auto* arguments = call.arguments();
    return arguments != nullptr ? first_line_of(*arguments) : std::string();
}

noted_call noted(const running_request& call, const std::string& tool)
{
    return {call.who->principal, tool, first_line(call), call.facts.sandbox};
}

void note_past_call(call_history& history, const running_request& call, const tool_definition& called,
                    std::chrono::steady_clock::time_point began, const tool_result& result)
{
    const bool only_looked = called.annotations.read_only && !result.is_error;
    if (called.about == unnamed_subject::none || only_looked) return;
    past_call past;
    past.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    past.principal = call.who->principal;
    past.tool = called.name;
    past.sandbox = call.facts.sandbox;
    if (const auto* arguments = call.arguments()) past.input = input_of(*arguments);
    history.note_call(std::move(past), result);
}

// Programs want the result of the call: they would have to know how to go on.
bool reads_jobs(const catalogue& offered, const running_request& call)
{
    constexpr std::string_view reader = "job_poll";
    return !call.is_program && call.who->code == nullptr && offered.tools.find(reader) != nullptr &&
           offered.tools.profiles().shows(*call.who, reader);
}

tool_result result_of_early_end(const std::string& why)
{
    auto result = tool_failure(why);
    result.structured["cause"] = "cancelled";
    return result;
}

}  // namespace

bool newer(const json::value& one, const json::value& other)
{
    const auto* first = one.if_object();
    const auto* second = other.if_object();
    return first != nullptr && second != nullptr && view_of(*first, "created") > view_of(*second, "created");
}

// The rows of all servers that answer, and the names of those that do not.
awaitable<> gather(catalogue& offered, running_request& call, gathered_list list, tool_result& result)
{
    const auto answers = co_await offered.nodes->ask_holders(call);
    auto& rows = result.structured[list.member].as_array();
    json::array silent;
    for (const auto& each : answers) {
        const auto* theirs = object_of(each.result, "structuredContent").if_contains(list.member);
        const auto* their_rows = theirs == nullptr ? nullptr : theirs->if_array();
        if (their_rows == nullptr)
            silent.emplace_back(each.node);
        else
            rows.insert(rows.end(), their_rows->begin(), their_rows->end());
    }
    if (list.newest_first) std::stable_sort(rows.begin(), rows.end(), newer);
    if (!silent.empty()) result.structured["unreachable_nodes"] = std::move(silent);
}

// Who is shown no way to get a second sandbox needs no handle of the first, which every tool means without one.
bool gets_sandboxes(const std::vector<const tool*>& listed)
{
    const auto gives_handle = [](const tool* each) {
        const auto& name = each->definition().name;
        return name == "create_sandbox" || name == "initialize_sandbox" || name == "list_sandboxes";
    };
    return std::ranges::any_of(listed, gives_handle);
}

// An argument that says in words what it is for stays.
void leave_out_handle(json::object& described)
{
    auto* properties = described.at("inputSchema").as_object().if_contains("properties");
    if (properties == nullptr) return;
    auto& all = properties->as_object();
    const auto* handle = all.if_contains("sandbox_id");
    if (handle != nullptr && !handle->as_object().contains("description")) all.erase("sandbox_id");
}

awaitable<json::object> list_tools(catalogue& offered, running_request& call)
{
    const auto tools = offered.tools.listed(*call.who);
    const bool with_handles = gets_sandboxes(tools);
    const auto describe = [&](std::size_t i) {
        auto described = describe_tool(tools[i]->definition(), *call.who, offered.format);
        if (!with_handles) leave_out_handle(described);
        return json::value(std::move(described));
    };
    co_return page_of(tools.size(), describe, "tools", call.params);
}

// Models write the arguments as text, and some clients pass that on unread.
json::object arguments_of(const json::object& params)
{
    const auto text = view_of(params, "arguments");
    auto read = text.empty() ? std::nullopt : jsonrpc::read_bounded(text, {.depth = 256});
    return read && read->is_object() ? std::move(read->get_object()) : optional_object(params, "arguments");
}

// The arguments of a long message, which are not copied on the io thread.
json::object taken_arguments(json::object& params)
{
    auto* const sent = params.if_contains("arguments");
    return sent != nullptr && sent->is_object() ? std::move(sent->get_object()) : arguments_of(params);
}

// Of a call that its caller's deadline or the server ends, too.
awaitable<tool_result> result_of(tool& wanted, running_request& call, json::object arguments)
{
    loop_steps::name(wanted.definition().name.c_str());
    try {
        auto result = co_await wanted.call(*call.context, std::move(arguments));
        co_return result;
    } catch (const boost::system::system_error& failure) {
        if (call.ended_because().empty() || failure.code() != asio::error::operation_aborted) throw;
    }
    co_await asio::this_coro::reset_cancellation_state();
    co_return result_of_early_end(call.ended_because());
}

// A call that ends with a question is made again with the answer under the same key.
awaitable<tool_result> result_of(tool& wanted, running_request& call, json::object arguments,
                                 std::optional<idempotent_calls::running>& run)
{
    if (run) run->began = true;
    tool_result result;
    std::exception_ptr question;
    try {
        result = co_await result_of(wanted, call, std::move(arguments));
    } catch (const input_required&) {
        question = std::current_exception();
    }
    if (question && run) co_await run->forget();
    if (question) std::rethrow_exception(question);
    co_return result;
}

// As far as there is room for it; a large one is made ready on the pool.
awaitable<json::object> sent_to_caller(catalogue& offered, running_request& call, tool_result result, std::size_t limit)
{
    const auto reader = call.is_program ? result_reader::program : result_reader::model;
    if (auto* const shared = offered.pool.lock().get(); shared != nullptr && is_large(result)) {
        auto large =
            std::make_shared<finishing>(in_own_memory(std::move(result)), limit, *call.who, offered.format, reader);
        auto sent = co_await described_by_pool(offered, call, *shared, std::move(large));
        co_return sent;
    }
    if (auto rest = rest_of(result, limit); rest.needed)
        result = co_await shortened(offered, *call.who, std::move(result), limit, std::move(rest));
    auto described = describe_tool_result(std::move(result), *call.who, offered.format, reader);
    call.facts.bytes = call_facts::bytes_in(described);
    co_return described;
}

namespace {

// Long arguments are not read for it.
std::string request_text(const running_request& call)
{
    auto digest = call.is_long ? call.digest : jsonrpc::canonical_digest(object_of(call.params, "arguments"));
    return text_of(call.params, "name") + " " + std::move(digest);
}

// The keys of a program are not those of the caller whose sandbox it runs in.
named_call named_by(const running_request& call, std::string key)
{
    named_call named{call.who->principal, std::move(key), request_text(call)};
    if (call.who->code) named.principal += "\n" + call.who->code->sandbox;
    return named;
}

// What the call is answered without being run. Nothing: it is to run, and `run` is it.
awaitable<std::optional<json::object>> begin_named(catalogue& offered, running_request& call,
                                                   const tool_definition& called, std::string sandbox_id,
                                                   named_call named, std::optional<idempotent_calls::running>& run)
{
    std::optional<json::object> answer;
    auto& calls = offered.named_calls;
    if (calls.sandboxes() != nullptr) {
        auto place = co_await calls.sandboxes()->place_of(*call.who, std::move(sandbox_id), called.about);
        if (place.refusal) {
            call.facts.note_result(*place.refusal);
            answer = describe_tool_result(std::move(*place.refusal), *call.who, offered.format);
            co_return answer;
        }
        named.sandbox = std::move(place.sandbox);
    }
    answer = co_await calls.find(named);
    if (answer) co_return answer;
    run.emplace(calls, std::move(named));
    answer = co_await run->begin();
    if (answer) run.reset();
    co_return answer;
}

// Those of a long message on the pool, where `pool` is not null.
awaitable<fitted_arguments> fit_arguments(catalogue& offered, running_request& call, const std::string& name,
                                          blocking_pool* pool, json::object arguments)
{
    if (pool == nullptr) {
        fitted_arguments as_sent;
        if (!call.is_program) as_sent.misfit = offered.tools.validate(name, arguments);
        as_sent.arguments = std::move(arguments);
        co_return as_sent;
    }
    auto payer = call.who->principal;
    auto rules = offered.tools.rules_of(name);
    // Not assigned, because that would copy what lies in the memory of the message.
    auto fitted =
        co_await fit_on_pool(*pool, std::move(payer), std::move(rules), std::move(arguments), call.is_program);
    call.params["arguments"] = std::move(fitted.sent);
    co_return fitted;
}

// SEP-1303: since 2025-11-25 the model is shown, so that it can try again.
json::object refuse_arguments(catalogue& offered, running_request& call, const std::string& name, std::string misfit)
{
    if (call.who->protocol < revision::v2025_11_25)
        throw rpc_error(rpc_code::invalid_params, "Invalid params: " + misfit);
    call.facts.refused = true;
    auto refused = tool_failure(std::move(misfit));
    offered.history.note_end(call.who->principal, refused, [&] { return noted(call, name); });
    return describe_tool_result(std::move(refused), *call.who, offered.format);
}

tool_result cut_off_meanwhile()
{
    auto result = tool_failure(
        "This server lost touch with its cluster while the call ran, and another one may have the sandbox as it was "
        "before. Look at what the call changes before you call again.");
    result.structured["may_have_run"] = true;
    result.structured["error_type"] = "NodeCutOff";
    return result;
}

}  // namespace

awaitable<json::object> call_tool(catalogue& offered, running_request& call)
{
    auto& facts = call.facts;
    std::optional<named_call> named;
    if (auto key = text_of(object_of(call.params, "_meta"), reserved_name::idempotency_key); !key.empty())
        named = named_by(call, std::move(key));
    const auto name = required_string(call.params, "name");
    auto& wanted = known_tool(offered, name, call.who->code != nullptr);
    check_task_use(wanted.definition(), call);
    auto* const pool = call.is_long ? offered.pool.lock().get() : nullptr;
    auto arguments = pool != nullptr ? taken_arguments(call.params) : arguments_of(call.params);
    facts.note_arguments(arguments);
    auto wait = no_wait;
    if (offered.begin_call) wait = co_await offered.begin_call(call.who->principal, !call.passed_on);
    if (wait != no_wait) {
        auto refused = rate_limited(wait);
        facts.note_result(refused);
        co_return describe_tool_result(std::move(refused), *call.who, offered.format);
    }
    auto fitted = co_await fit_arguments(offered, call, name, pool, std::move(arguments));
    if (!fitted.misfit.empty()) co_return refuse_arguments(offered, call, name, std::move(fitted.misfit));
    arguments = std::move(fitted.arguments);
    auto ignored = std::move(fitted.ignored);
    std::optional<idempotent_calls::running> run;
    if (named) {
        std::string sandbox_id = text_of(arguments, "sandbox_id");
        auto answer =
            co_await begin_named(offered, call, wanted.definition(), std::move(sandbox_id), *std::move(named), run);
        if (answer) co_return *std::move(answer);
    }
    tool_figures figures(offered.history, call.who->principal, name);
    const auto limit = result_limit_of(wanted.definition(), arguments, offered.results);
    call.context->result_limit = limit;
    call.context->pool = offered.pool.lock().get();
    call.context->reads_jobs = reads_jobs(offered, call);
    call.context->is_program = call.is_program;
    if (pool == nullptr) ignored = take_out_unknown(arguments, wanted.definition().input_schema, most_unknown_listed);
    const auto began = std::chrono::steady_clock::now();
    auto result = co_await result_of(wanted, call, std::move(arguments), run);
    const auto& list = wanted.definition().gathers;
    const bool has_others =
        offered.nodes != nullptr && !call.passed_on && (!call.who->code || call.who->code->sandboxes);
    if (has_others && !list.member.empty() && !result.is_error) co_await gather(offered, call, list, result);
    bool stands = true;
    if (offered.end_call && !wanted.definition().annotations.read_only) {
        const ended_call ended{call.who->principal, began, !result.is_error};
        stands = co_await offered.end_call(ended);
    }
    if (!stands) result = cut_off_meanwhile();
    figures.ended(result);
    if (!ignored.empty()) tell_ignored(result, ignored);
    facts.note_result(result);
    offered.history.note_end(call.who->principal, result, [&] { return noted(call, name); });
    note_past_call(offered.history, call, wanted.definition(), began, result);
    auto sent = co_await sent_to_caller(offered, call, std::move(result), limit);
    if (run && stands) {
        json::object copy(sent, json::storage_ptr());
        co_await run->keep(std::move(copy));
    }
    co_return sent;
}

}  // namespace cmcp
