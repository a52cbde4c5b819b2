#pragma once

#include "load/client_session.hpp"
#include "load/http_answer.hpp"
#include "load/http_channel.hpp"
#include "text/sse_parser.hpp"

namespace cmcp::load {

/// Streamable HTTP: with a session (2025-03-26 to 2025-11-25), or each request for itself (2026-07-28).
class streamable_session final : public client_session, private http_channel::user {
public:
    streamable_session(session_host& host, role kind, std::size_t home);

private:
    void connect() override;
    void transmit(std::string text, const operation& what) override;
    void shut() override;

    void answer_head(http_channel& from, const response_head& head) override;
    void answer_body(http_channel& from, std::string_view piece) override;
    void answer_end(http_channel& from) override;
    void answer_lost(http_channel& from, const std::string& reason) override;

    void received(std::string_view text);
    void post(std::string_view fields, std::string_view body);
    void hold_stream();
    void became_ready();
    void next_step();
    void not_accepted();
    bool session_is_gone() const;
    std::string fields_for(const operation& what) const;
    std::string session_fields() const;
    bool stateless() const { return host_.options.transport == transport::stateless; }

    http_channel channel_;
    sse_parser parser_;
    http_answer reply_;
    std::string body_;       // of an answer that is no event stream
    std::string agreement_;  // the answer to initialize
    std::string session_;
    enum class step { initialize, initialized, holding, ready } step_ = step::initialize;
    bool events_ = false;
};

}  // namespace cmcp::load
