#pragma once

#include "mcp/message_sink.hpp"
#include "mcp/request_io.hpp"

#include <limits>
#include <memory>

namespace cmcp {

/// The part of request_io that both eras share: progress, notifications, log messages above a threshold.
class request_channel : public request_io {
public:
    /// `meta` is the request's `_meta` (may be null): holds the progress token. Throws rpc_error for a bad token.
    request_channel(std::shared_ptr<message_sink> sink, const json::object* meta);

    bool wants_progress() const override { return !token_.is_null(); }
    awaitable<> progress(double progress, std::optional<double> total, std::string message) override;
    awaitable<> output(double progress, std::vector<output_text> texts) override;
    awaitable<> log(log_severity level, std::string logger, json::value data) override;
    awaitable<> notify(std::string method, json::object params) override;
    void close_stream_for_polling() override { sink_->close_stream_for_polling(); }

protected:
    virtual bool lets_through(log_severity level) const = 0;

    std::shared_ptr<message_sink> sink_;

private:
    double next_progress(double wanted);
    json::object progress_params(double progress);

    json::value token_;
    double last_progress_ = -std::numeric_limits<double>::infinity();
};

}  // namespace cmcp
