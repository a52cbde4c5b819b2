#include "load/streamable_session.hpp"

#include "load/http_texts.hpp"

#include <utility>

namespace cmcp::load {

namespace {

constexpr int method_not_found = -32601;

}  // namespace

streamable_session::streamable_session(session_host& host, role kind, std::size_t home)
    : client_session(host, kind, home),
      channel_(host.executor, host.counted, *this),
      parser_([this](std::string_view, std::string_view data) { received(data); })
{
}

void streamable_session::connect()
{
    session_.clear();
    agreement_.clear();
    if (!stateless()) {
        step_ = step::initialize;
        return post("", initialize_text(offered_revision()));
    }
    if (kind() == role::idle) return hold_stream();
    step_ = step::ready;
    opened();
}

void streamable_session::post(std::string_view fields, std::string_view body)
{
    exchange_begun();
    channel_.request(way(), post_text(host_.options, address(), address().path, fields, body), reading_rate());
}

std::string streamable_session::session_fields() const
{
    std::string fields = "MCP-Protocol-Version: " + revision() + "\r\n";
    if (!session_.empty()) fields.append("Mcp-Session-Id: ").append(session_).append("\r\n");
    return fields;
}

std::string streamable_session::fields_for(const operation& what) const
{
    if (!stateless()) return session_fields();
    std::string fields = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + what.method + "\r\n";
    if (!what.tool.empty()) fields.append("Mcp-Name: ").append(what.tool).append("\r\n");
    fields.append(what.headers);
    return fields;
}

void streamable_session::transmit(std::string text, const operation& what) { post(fields_for(what), text); }

// The GET stream of a session, or a subscription of the stateless revision.
void streamable_session::hold_stream()
{
    step_ = step::holding;
    if (stateless()) {
        operation listen;
        listen.method = "subscriptions/listen";
        return post(fields_for(listen), listen_text(next_id()));
    }
    exchange_begun();
    channel_.request(way(), get_text(host_.options, address(), address().path, "text/event-stream", session_fields()));
}

void streamable_session::became_ready()
{
    step_ = step::ready;
    opened();
}

void streamable_session::shut() { channel_.close(); }

void streamable_session::answer_head(http_channel&, const response_head& head)
{
    reply_ = {head.status, {}};
    served_by(head.served_by);
    events_ = head.events && reply_.good();
    body_.clear();
    if (events_) parser_ = sse_parser([this](std::string_view, std::string_view data) { received(data); });
    if (!head.session.empty()) session_ = head.session;
    // A server may hold back the header until its first event, so a session can become ready late.
    if (step_ == step::holding && !stateless() && events_) became_ready();
}

void streamable_session::answer_body(http_channel&, std::string_view piece)
{
    if (events_)
        parser_.feed(piece);
    else if (reply_.good())
        body_.append(piece);
    else
        reply_.add(piece);
}

void streamable_session::received(std::string_view text)
{
    // An event without data only brings its id, with which a client could resume (2025-11-25).
    if (text.empty()) return;
    if (step_ == step::holding && opening()) return became_ready();
    if (ready()) return message(text);
    if (skim_message(text).id == 0) agreement_ = text;
}

// A server answers 404 for a session that it does not know, after which a client begins another (2025-11-25, "Session
// Management"); a proxy or another member answers 502 or 504 where the session's server is gone.
bool streamable_session::session_is_gone() const
{
    return !session_.empty() && (reply_.status == 404 || reply_.status == 502 || reply_.status == 504);
}

// The body of an HTTP error may hold the JSON-RPC answer to the call, or a text with the reason.
void streamable_session::not_accepted()
{
    auto seen = skim_message(reply_.body);
    if (session_is_gone() && seen.error_code != method_not_found) return broken(reply_.why());
    refused(reply_);
    if (seen.valid && seen.id && seen.error_code) message(std::exchange(reply_.body, {}));
}

void streamable_session::answer_end(http_channel&)
{
    if (!reply_.good() && opening()) return broken(reply_.why());
    if (!reply_.good() && ready()) not_accepted();
    if (!events_ && !body_.empty()) {
        auto text = std::exchange(body_, {});
        received(text);
    }
    if (ready()) {
        if (kind() == role::idle) return broken({"stream ended", {}});
        return exchange_ended();
    }
    if (opening()) next_step();
}

void streamable_session::next_step()
{
    if (step_ == step::initialize) {
        if (!agreed(agreement_)) return;
        step_ = step::initialized;
        return post(session_fields(), initialized_text);
    }
    if (step_ == step::holding) return broken({"stream ended", {}});
    exchange_ended();
    if (kind() == role::idle) return hold_stream();
    became_ready();
}

void streamable_session::answer_lost(http_channel&, const std::string& reason) { broken({reason, {}}); }

}  // namespace cmcp::load
