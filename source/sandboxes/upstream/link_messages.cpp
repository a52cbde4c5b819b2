#include "upstream/link_messages.hpp"

#include "async/sized_work.hpp"
#include "jsonrpc/json_size.hpp"
#include "jsonrpc/read_object.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/revision.hpp"
#include "prebuilt/version.hpp"
#include "upstream/upstream_text.hpp"

#include <utility>
#include <variant>

namespace cmcp {

namespace {

constexpr std::size_t longest_sentence = 500;

json::object our_name() { return {{"name", "container-mcp"}, {"version", CMCP_VERSION}}; }

}  // namespace

std::shared_ptr<awaited_answer> link_messages::expect(std::int64_t id, upstream_progress_handler on_progress)
{
    std::erase_if(waiting_, [](const auto& each) { return each.second.expired(); });
    auto one = std::make_shared<awaited_answer>();
    one->on_progress = std::move(on_progress);
    waiting_[id] = one;
    return one;
}

awaitable<std::string> link_messages::write(std::int64_t id, std::string method, json::object params)
{
    if (pool_ == nullptr || !jsonrpc::is_larger(params, most_on_loop))
        co_return jsonrpc::encode_request(id, method, params);
    auto work = [id, method = std::move(method), params = std::move(params)]() mutable {
        const auto written = std::move(params);  // which goes with the end of the work
        return jsonrpc::encode_request(id, method, written);
    };
    auto text = co_await by_size(*pool_, blocking_pool::server, most_on_loop + 1, std::move(work));
    co_return text;
}

awaitable<bool> link_messages::take(std::string text)
{
    if (pool_ == nullptr || text.size() <= most_on_loop) co_return sort(jsonrpc::decode(text, {}));
    const auto decoder = std::make_shared<jsonrpc::message_decoder>(std::move(text), jsonrpc::decode_limits());
    sliced_work<jsonrpc::payload> work = [decoder](slice_end until) { return decoder->decode_until(until); };
    auto said = co_await pool_->run_long(blocking_pool::server, std::move(work));
    co_return sort(std::move(said));
}

bool link_messages::sort(jsonrpc::payload said)
{
    bool awaited = false;
    for (auto& message : said.messages) {
        if (auto* answer = std::get_if<jsonrpc::response>(&message))
            awaited = take_answer(std::move(*answer)) || awaited;
        else if (const auto* what = std::get_if<jsonrpc::notification>(&message))
            take_notification(*what);
        else
            take_request(std::get<jsonrpc::request>(message));
    }
    return awaited;
}

std::shared_ptr<awaited_answer> link_messages::waiting_for(const json::value* id)
{
    if (id == nullptr || !id->is_int64()) return nullptr;
    const auto entry = waiting_.find(id->get_int64());
    const auto one = entry == waiting_.end() ? nullptr : entry->second.lock();
    return one && !one->answer ? one : nullptr;
}

bool link_messages::take_answer(jsonrpc::response&& answer)
{
    const auto one = waiting_for(&answer.id);
    if (!one) return false;
    one->answer = std::move(answer);
    replies_ = 0;
    return true;
}

void link_messages::take_notification(const jsonrpc::notification& what)
{
    if (what.method == "notifications/progress") return take_progress(what.params);
    if (what.method == "notifications/tools/list_changed" && tools_changed) tools_changed();
}

void link_messages::take_progress(const json::object& params)
{
    const auto one = waiting_for(params.if_contains("progressToken"));
    const auto* progress = params.if_contains("progress");
    if (!one || !one->on_progress || progress == nullptr || !progress->is_number()) return;
    const double value = progress->to_number<double>();
    if (value <= one->progress) return;  // it must grow
    one->progress = value;
    upstream_progress step{value, {}, shown_line(view_of(params, "message"), longest_sentence)};
    if (const auto* total = params.if_contains("total"); total != nullptr && total->is_number())
        step.total = total->to_number<double>();
    one->on_progress(step);
}

// No capability was declared, so a server that follows the protocol asks for nothing but a sign of life.
void link_messages::take_request(const jsonrpc::request& what)
{
    if (what.refusal) throw jsonrpc::decode_error(what.refusal->code, what.refusal->what(), what.id);
    if (!reply || ++replies_ > most_replies) return;
    if (what.method == "ping") return reply(jsonrpc::encode_result(what.id, {}));
    const rpc_error refusal(rpc_code::method_not_found, "This client answers no requests but ping.");
    reply(jsonrpc::encode_error(what.id, refusal));
}

json::object result_of(jsonrpc::response answer, std::string_view method)
{
    if (answer.error) {
        const auto code = static_cast<int>(number_of(*answer.error, "code"));
        throw upstream_refusal(code, "refused " + std::string(method) + ": " +
                                         shown_line(view_of(*answer.error, "message"), longest_sentence) + " (" +
                                         std::to_string(code) + ")");
    }
    if (!answer.result.is_object())
        throw upstream_problem("answered " + std::string(method) + " with a result that is no object");
    return std::move(answer.result.get_object());
}

json::object params_with_meta(json::object params, std::int64_t id, bool wants_progress, bool stateless)
{
    json::object meta;
    if (wants_progress) meta["progressToken"] = id;
    if (stateless) {
        meta[reserved_name::protocol_version] = to_string(revision::v2026_07_28);
        meta[reserved_name::client_info] = our_name();
        meta[reserved_name::client_capabilities] = json::object();
    }
    if (!meta.empty()) params["_meta"] = std::move(meta);
    return params;
}

json::object initialize_params()
{
    json::object params;
    params["protocolVersion"] = to_string(revision::v2025_11_25);
    params["capabilities"] = json::object();
    params["clientInfo"] = our_name();
    return params;
}

std::string agreed_revision(const json::object& result)
{
    auto named = text_of(result, "protocolVersion");
    const auto known = parse_revision(named);
    if (!known || is_modern(*known))
        throw upstream_problem("speaks the revision \"" + shown_line(named, 40) + "\", which this server does not");
    return named;
}

}  // namespace cmcp
