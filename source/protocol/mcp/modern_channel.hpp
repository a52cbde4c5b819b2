#pragma once

#include "mcp/caller.hpp"
#include "mcp/request_channel.hpp"

namespace cmcp {

/// request_io of 2026-07-28: input requests end the call, their answers come with its next attempt.
class modern_channel : public request_channel {
public:
    /// `known`: answers by key, of this attempt and of earlier ones. `log_threshold` empty: no log messages.
    modern_channel(const caller& who, std::shared_ptr<message_sink> sink, const json::object* meta,
                   std::optional<log_severity> log_threshold, json::object known);

    awaitable<json::object> ask(std::string key, std::string method, json::object params) override;

    /// Asks several things and waits for the answers where that is possible, in a task; nothing elsewhere: the call
    /// must end and come again.
    virtual awaitable<std::optional<json::object>> ask_and_wait(json::object input_requests);

    /// Answers that ask() handed out: they travel in the request state when the next input request ends the call.
    const json::object& used() const { return used_; }

protected:
    const caller& who() const { return caller_; }

private:
    bool lets_through(log_severity level) const override { return log_threshold_ && level >= *log_threshold_; }

    const caller& caller_;
    std::optional<log_severity> log_threshold_;
    json::object known_;
    json::object used_;
};

}  // namespace cmcp
