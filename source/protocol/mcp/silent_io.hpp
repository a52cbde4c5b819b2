#pragma once

#include "jsonrpc/rpc_error.hpp"
#include "mcp/request_io.hpp"

namespace cmcp {

/// A caller that is told nothing but the result, and asked nothing.
class silent_io : public request_io {
public:
    bool wants_progress() const override { return false; }
    awaitable<> progress(double, std::optional<double>, std::string) override { co_return; }
    awaitable<> output(double, std::vector<output_text>) override { co_return; }
    awaitable<> log(log_severity, std::string, json::value) override { co_return; }
    awaitable<> notify(std::string, json::object) override { co_return; }
    awaitable<json::object> ask(std::string, std::string, json::object) override
    {
        throw rpc_error(rpc_code::missing_client_capability, "This caller is asked nothing.");
        co_return json::object();
    }
    void close_stream_for_polling() override {}
};

}  // namespace cmcp
