#include "transport/stateless_http.hpp"

#include "async/task_group.hpp"
#include "transport/rpc_over_http.hpp"
#include "transport/stream_writer.hpp"

namespace cmcp {

namespace {

// Both are required in every request (basic, "_meta").
bool has_envelope(const jsonrpc::request& asked)
{
    const auto* meta = asked.params.if_contains("_meta");
    if (meta == nullptr || !meta->is_object()) return false;
    const auto* version = meta->get_object().if_contains("io.modelcontextprotocol/protocolVersion");
    const auto* capabilities = meta->get_object().if_contains("io.modelcontextprotocol/clientCapabilities");
    return version != nullptr && version->is_string() && capabilities != nullptr && capabilities->is_object();
}

// What is wrong with the request as such is an HTTP error; how it ended once it ran is not.
int status_of(int code, bool envelope)
{
    switch (code) {
    case rpc_code::method_not_found: return 404;
    case rpc_code::parse_error:
    case rpc_code::invalid_request:
    case rpc_code::header_mismatch:
    case rpc_code::missing_client_capability:
    case rpc_code::unsupported_protocol_version: return 400;
    case rpc_code::server_busy: return 503;
    case rpc_code::invalid_params: return envelope ? 200 : 400;
    default: return 200;
    }
}

awaitable<> run_stateless(server_core& core, std::string principal, jsonrpc::request asked,
                          std::shared_ptr<event_stream> reply)
{
    struct at_end {
        event_stream& stream;
        ~at_end() { stream.request_ended(); }
    } tells{*reply};
    co_await core.handle_modern(std::move(principal), std::move(asked), reply);
}

}  // namespace

awaitable<> stateless_http::serve(exchange& x, jsonrpc::message received, accepted_types accepted)
{
    auto* asked = std::get_if<jsonrpc::request>(&received);
    if (asked == nullptr) {
        // There is nothing that a notification could refer to: closing the stream cancels.
        http_reply taken;
        taken.status = 202;
        co_await x.reply(std::move(taken));
        co_return;
    }
    auto header = [&fields = x.request()](std::string_view name) { return fields.header(name); };
    auto mismatch = core_.check_headers(*asked, header);
    if (mismatch) {
        auto refusal = rpc_error_reply(400, asked->id, *mismatch);
        co_await x.reply(std::move(refusal));
        co_return;
    }
    co_await answer(x, std::move(*asked), accepted);
}

awaitable<> stateless_http::answer(exchange& x, jsonrpc::request asked, accepted_types accepted)
{
    auto stream = std::make_shared<event_stream>(x.executor(), event_stream::options{.budget = budget_});
    auto who = stream->attach();
    stream->expect_requests(1);
    stream_options chosen;
    chosen.json = accepted.json;
    chosen.sse = accepted.events;
    chosen.patience = chosen.keep_alive = chosen_.keep_alive;
    chosen.status_of = [envelope = has_envelope(asked)](int code) { return status_of(code, envelope); };
    stream_writer writer(x, stream, who, std::move(chosen));
    // Going out of scope, the group cancels the request if it still runs: the client has closed the stream.
    task_group running(x.executor());
    running.spawn("request", run_stateless(core_, x.request().principal, std::move(asked), std::move(stream)));
    co_await writer.run();
}

}  // namespace cmcp
