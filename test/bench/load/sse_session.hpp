#pragma once

#include "load/client_session.hpp"
#include "load/http_answer.hpp"
#include "load/http_channel.hpp"
#include "text/sse_parser.hpp"

namespace cmcp::load {

/// HTTP+SSE (2024-11-05): GET opens the stream, whose first event names where to POST.
class sse_session final : public client_session, private http_channel::user {
public:
    sse_session(session_host& host, role kind, std::size_t home);

private:
    void connect() override;
    void transmit(std::string text, const operation& what) override;
    void shut() override;

    void answer_head(http_channel& from, const response_head& head) override;
    void answer_body(http_channel& from, std::string_view piece) override;
    void answer_end(http_channel& from) override;
    void answer_lost(http_channel& from, const std::string& reason) override;

    void event(std::string_view name, std::string_view data);
    void post(std::string_view body);
    void endpoint(std::string_view reference);

    http_channel stream_;
    http_channel posts_;
    sse_parser parser_;
    http_answer stream_reply_, post_reply_;
    std::string to_;  // path for POST
    enum class step { endpoint, initialize, initialized, ready } step_ = step::endpoint;
    bool initialize_answered_ = false;
};

}  // namespace cmcp::load
