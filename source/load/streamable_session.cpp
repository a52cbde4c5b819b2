#include "load/streamable_session.hpp"

#include "load/http_texts.hpp"

namespace cmcp::load {

streamable_session::streamable_session(session_host& host, role part)
    : client_session(host, part), channel_(host.executor, host.ways, host.counted, *this),
      parser_([this](std::string_view, std::string_view data) { received(data); })
{
}

void streamable_session::connect()
{
    session_.clear();
    granted_ = false;
    if (!stateless()) {
        step_ = step::initialize;
        return post("", initialize_text(host_.options.revision));
    }
    if (part() == role::idle) return hold_stream();
    step_ = step::ready;
    opened();
}

void streamable_session::post(std::string_view fields, std::string_view body)
{
    exchange_begun();
    channel_.request(post_text(host_.options, host_.options.server.path, fields, body), reading_rate());
}

std::string streamable_session::session_fields() const
{
    std::string fields = "MCP-Protocol-Version: " + host_.options.revision + "\r\n";
    if (!session_.empty()) fields.append("Mcp-Session-Id: ").append(session_).append("\r\n");
    return fields;
}

std::string streamable_session::fields_for(const operation& what) const
{
    if (!stateless()) return session_fields();
    std::string fields = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + what.method + "\r\n";
    if (!what.tool.empty()) fields.append("Mcp-Name: ").append(what.tool).append("\r\n");
    return fields;
}

void streamable_session::transmit(std::string text, const operation& what)
{
    body_.clear();
    post(fields_for(what), text);
}

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
    channel_.request(get_text(host_.options, host_.options.server.path, "text/event-stream", session_fields()));
}

void streamable_session::became_ready()
{
    step_ = step::ready;
    opened();
}

void streamable_session::shut() { channel_.close(); }

void streamable_session::answer_head(http_channel&, const response_head& head)
{
    events_ = head.events;
    body_.clear();
    if (events_) parser_ = sse_parser([this](std::string_view, std::string_view data) { received(data); });
    if (!head.session.empty()) session_ = head.session;
    bool good = head.status >= 200 && head.status < 300;
    if (!good && opening()) return broken("HTTP " + std::to_string(head.status));
    if (!good) return refused("HTTP " + std::to_string(head.status));
    // The server may hold back the header until there is an event; then this comes late, but it comes.
    if (step_ == step::holding && !stateless() && events_) became_ready();
}

void streamable_session::answer_body(http_channel&, std::string_view piece)
{
    if (events_) parser_.feed(piece);
    else body_.append(piece);
}

void streamable_session::received(std::string_view text)
{
    // An event that only tells its id, so that the client could come back (2025-11-25).
    if (text.empty()) return;
    if (step_ == step::holding && opening()) return became_ready();
    if (ready()) return message(text);
    auto seen = skim_message(text);
    if (seen.id == 0 && seen.has_result) granted_ = true;
}

void streamable_session::answer_end(http_channel&)
{
    if (!events_ && !body_.empty()) {
        auto text = std::move(body_);
        body_ = {};
        // An error's body is no answer of its own.
        received(text);
    }
    if (ready()) {
        if (part() == role::idle) return broken("stream ended");
        return exchange_ended();
    }
    if (!opening()) return;
    if (step_ == step::initialize) {
        if (!granted_) return broken("initialize refused");
        step_ = step::initialized;
        return post(session_fields(), initialized_text);
    }
    if (step_ == step::holding) return broken("stream ended");
    exchange_ended();
    if (part() == role::idle) return hold_stream();
    became_ready();
}

void streamable_session::answer_lost(http_channel&, const std::string& reason) { broken(reason); }

}  // namespace cmcp::load
