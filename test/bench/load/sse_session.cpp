#include "load/sse_session.hpp"

#include "load/http_texts.hpp"

#include <stdexcept>

namespace cmcp::load {

sse_session::sse_session(session_host& host, role kind, std::size_t home)
    : client_session(host, kind, home),
      stream_(host.executor, host.counted, *this),
      posts_(host.executor, host.counted, *this),
      parser_([this](std::string_view name, std::string_view data) { event(name, data); })
{
}

void sse_session::connect()
{
    step_ = step::endpoint;
    initialize_answered_ = false;
    parser_ = sse_parser([this](std::string_view name, std::string_view data) { event(name, data); });
    stream_.request(way(), get_text(host_.options, address(), address().path, "text/event-stream", ""), reading_rate());
}

void sse_session::transmit(std::string text, const operation&) { post(text); }

void sse_session::post(std::string_view body)
{
    exchange_begun();
    posts_.request(way(), post_text(host_.options, address(), to_, "", body));
}

void sse_session::shut()
{
    stream_.close();
    posts_.close();
}

void sse_session::event(std::string_view name, std::string_view data)
{
    if (name == "endpoint") return endpoint(data);
    if (ready()) return message(data);
    if (!opening() || step_ != step::initialize || skim_message(data).id != 0) return;
    if (!agreed(data)) return;
    initialize_answered_ = true;
    if (!posts_.waiting()) answer_end(posts_);
}

void sse_session::endpoint(std::string_view reference)
{
    if (!opening()) return;
    try {
        to_ = resolve_endpoint(address(), reference);
    } catch (const std::invalid_argument& e) {
        return broken({"bad endpoint", e.what()});
    }
    step_ = step::initialize;
    post(initialize_text(offered_revision()));
}

void sse_session::answer_head(http_channel& from, const response_head& head)
{
    bool stream = &from == &stream_;
    auto& reply = stream ? stream_reply_ : post_reply_;
    reply = {head.status, {}};
    if (!stream) served_by(head.served_by);
    if (stream && reply.good() && !head.events) broken({"no event stream", "the answer has another content type"});
}

void sse_session::answer_body(http_channel& from, std::string_view piece)
{
    bool stream = &from == &stream_;
    auto& reply = stream ? stream_reply_ : post_reply_;
    if (!reply.good())
        reply.add(piece);
    else if (stream)
        parser_.feed(piece);
}

void sse_session::answer_end(http_channel& from)
{
    if (&from == &stream_) return broken(stream_reply_.good() ? failure{"stream ended", {}} : stream_reply_.why());
    if (!post_reply_.good() && opening()) return broken(post_reply_.why());
    if (!post_reply_.good() && ready()) refused(post_reply_);
    if (ready()) return exchange_ended();
    if (!opening()) return;
    if (step_ == step::initialize && initialize_answered_) {
        step_ = step::initialized;
        return post(initialized_text);
    }
    if (step_ != step::initialized) return;
    step_ = step::ready;
    exchange_ended();
    if (kind() == role::idle) posts_.close();
    opened();
}

void sse_session::answer_lost(http_channel&, const std::string& reason) { broken({reason, {}}); }

}  // namespace cmcp::load
