#include "transport/stateless_http.hpp"

#include "mcp/header_check.hpp"
#include "transport/rpc_over_http.hpp"
#include "transport/stream_writer.hpp"

namespace cmcp {

namespace {

// Both are required in every request (basic, "_meta").
bool has_envelope(const jsonrpc::request& request)
{
    const auto* meta = request.params.if_contains("_meta");
    if (meta == nullptr || !meta->is_object()) return false;
    const auto* version = meta->get_object().if_contains("io.modelcontextprotocol/protocolVersion");
    const auto* capabilities = meta->get_object().if_contains("io.modelcontextprotocol/clientCapabilities");
    return version != nullptr && version->is_string() && capabilities != nullptr && capabilities->is_object();
}

// A request that is wrong as such is an HTTP error; the way in which it ended once it ran is not.
int status_of(int code, bool envelope)
{
    switch (code) {
        case rpc_code::method_not_found:
            return 404;
        case rpc_code::parse_error:
        case rpc_code::invalid_request:
        case rpc_code::header_mismatch:
        case rpc_code::missing_client_capability:
        case rpc_code::unsupported_protocol_version:
            return 400;
        case rpc_code::server_busy:
            return 503;
        case rpc_code::invalid_params:
            return envelope ? 200 : 400;
        default:
            return 200;
    }
}

}  // namespace

awaitable<> stateless_http::serve(exchange& x, jsonrpc::message received, accepted_types accepted)
{
    auto* call = std::get_if<jsonrpc::request>(&received);
    if (call == nullptr) {
        // There is nothing that a notification could refer to: closing the stream cancels.
        http_reply taken;
        taken.status = 202;
        return x.reply(std::move(taken));
    }
    auto header = [&fields = x.request()](std::string_view name) { return fields.header(name); };
    auto mismatch = header_mismatch(core_.tools(), *call, header);
    if (mismatch) return x.reply(rpc_error_reply(400, call->id, *mismatch));
    return answer(x, std::move(*call), accepted);
}

awaitable<> stateless_http::answer(exchange& x, jsonrpc::request request, accepted_types accepted)
{
    auto stream = std::make_shared<event_stream>(x.executor(), event_stream::options{.budget = budget_});
    auto who = stream->attach();
    stream->expect_requests(1);
    stream_options options;
    options.json = accepted.json;
    options.sse = accepted.events;
    options.patience = options.keep_alive = config_.keep_alive;
    options.status_of = [envelope = has_envelope(request)](int code) { return status_of(code, envelope); };
    stream_writer writer(x, stream, who, std::move(options));
    peer from{.principal = x.request().principal, .reply = std::move(stream)};
    writer.cancel_at_end(core_.start(std::move(request), std::move(from)));  // the client closes the stream to cancel
    return stream_writer::run(std::move(writer));
}

}  // namespace cmcp
