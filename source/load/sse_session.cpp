#include "load/sse_session.hpp"

#include "load/http_texts.hpp"

namespace cmcp::load {

sse_session::sse_session(session_host& host, role part)
    : client_session(host, part), stream_(host.executor, host.ways, host.counted, *this),
      posts_(host.executor, host.ways, host.counted, *this),
      parser_([this](std::string_view name, std::string_view data) { event(name, data); })
{
}

void sse_session::connect()
{
    step_ = step::endpoint;
    initialize_answered_ = false;
    parser_ = sse_parser([this](std::string_view name, std::string_view data) { event(name, data); });
    stream_.request(get_text(host_.options, host_.options.server.path, "text/event-stream", ""), reading_rate());
}

void sse_session::transmit(std::string text, const operation&)
{
    post(text);
}

void sse_session::post(std::string_view body)
{
    exchange_begun();
    posts_.request(post_text(host_.options, to_, "", body));
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
    if (!opening()) return;
    auto seen = skim_message(data);
    if (step_ != step::initialize || seen.id != 0) return;
    if (!seen.has_result) return broken("initialize refused");
    initialize_answered_ = true;
    if (!posts_.waiting()) answer_end(posts_);
}

// Relative to the stream's address (RFC 3986 section 5.2), or a path, or a whole address on the same server.
void sse_session::endpoint(std::string_view address)
{
    if (!opening()) return;
    const auto& base = host_.options.server.path;
    auto scheme = address.find("://");
    if (scheme != std::string_view::npos) {
        auto slash = address.find('/', scheme + 3);
        to_ = slash == std::string_view::npos ? "/" : address.substr(slash);
    } else if (address.starts_with('/')) {
        to_ = address;
    } else {
        to_ = base.substr(0, base.rfind('/') + 1).append(address);
    }
    step_ = step::initialize;
    post(initialize_text(host_.options.revision));
}

void sse_session::answer_head(http_channel& from, const response_head& head)
{
    bool good = &from == &stream_ ? head.status == 200 && head.events : head.status >= 200 && head.status < 300;
    if (good) return;
    auto kind = "HTTP " + std::to_string(head.status);
    if (&from == &stream_ || opening()) broken(kind);
    else refused(kind);
}

void sse_session::answer_body(http_channel& from, std::string_view piece)
{
    if (&from == &stream_) parser_.feed(piece);
}

void sse_session::answer_end(http_channel& from)
{
    if (&from == &stream_) return broken("stream ended");
    if (ready()) return exchange_ended();
    if (!opening()) return;
    if (step_ == step::initialize && initialize_answered_) {
        step_ = step::initialized;
        return post(initialized_text);
    }
    if (step_ != step::initialized) return;
    step_ = step::ready;
    exchange_ended();
    if (part() == role::idle) posts_.close();
    opened();
}

void sse_session::answer_lost(http_channel&, const std::string& reason) { broken(reason); }

}  // namespace cmcp::load
