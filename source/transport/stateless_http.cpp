#include "transport/stateless_http.hpp"

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
    auto* asked = std::get_if<jsonrpc::request>(&received);
    if (asked == nullptr) {
        // There is nothing that a notification could refer to: closing the stream cancels.
        http_reply taken;
        taken.status = 202;
        return x.reply(std::move(taken));
    }
    auto header = [&fields = x.request()](std::string_view name) { return fields.header(name); };
    auto mismatch = core_.check_headers(*asked, header);
    if (mismatch) return x.reply(rpc_error_reply(400, asked->id, *mismatch));
    return answer(x, std::move(*asked), accepted);
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
    auto ends = std::make_shared<canceller>();
    chosen.keeps =
        std::shared_ptr<void>(nullptr, [ends](void*) { ends->cancel(); });  // the client has closed the stream
    stream_writer writer(x, stream, who, std::move(chosen));
    auto sink = sink_of_request(std::move(stream));
    core_.start_modern(requests_, x.request().principal, std::move(asked), std::move(sink), std::move(ends));
    return stream_writer::run(std::move(writer));
}

}  // namespace cmcp
