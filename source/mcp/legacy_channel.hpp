#pragma once

#include "mcp/request_channel.hpp"
#include "mcp/session.hpp"

namespace cmcp {

/// request_io up to 2025-11-25: questions are requests to the client on the request's own stream.
class legacy_channel final : public request_channel {
public:
    legacy_channel(std::shared_ptr<session> who, std::shared_ptr<message_sink> sink, const json::object* meta);

    awaitable<json::object> ask(std::string key, std::string method, json::object params) override;

private:
    bool lets_through(log_severity level) const override { return level >= who_->log_threshold; }

    std::shared_ptr<session> who_;
};

}  // namespace cmcp
