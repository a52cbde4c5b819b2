#pragma once

#include "async/event.hpp"
#include "mcp/request_channel.hpp"
#include "mcp/session.hpp"

#include <vector>

namespace cmcp {

/// request_io up to 2025-11-25: the client is asked by requests on the request's own stream.
class legacy_channel final : public request_channel {
public:
    using request_ids = std::vector<std::int64_t>;

    /// `abandoned` gets the ids of requests that nobody waits for any more although the client has not answered.
    legacy_channel(std::shared_ptr<session> who, std::shared_ptr<message_sink> sink, const json::object* meta,
                   request_ids& abandoned);

    awaitable<json::object> ask(std::string key, std::string method, json::object params) override;
    bool can_ask(std::string_view method, const json::object& params) const override;
    awaitable<std::optional<json::object>> ask_meanwhile(std::string key, std::string method, json::object params,
                                                         std::chrono::milliseconds limit) override;

private:
    awaitable<std::optional<json::object>> ask_until(std::string method, json::object params,
                                                     event::clock::time_point limit);
    bool lets_through(log_severity level) const override { return level >= who_->log_threshold; }

    std::shared_ptr<session> who_;
    request_ids& abandoned_;
};

/// Tells the client that it need not answer (notifications/cancelled).
awaitable<> cancel_client_requests(std::shared_ptr<message_sink> sink, legacy_channel::request_ids ids,
                                   std::string why);

}  // namespace cmcp
