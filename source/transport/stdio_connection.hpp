#pragma once

#include "async/task_group.hpp"
#include "jsonrpc/message.hpp"
#include "mcp/server_core.hpp"
#include "transport/line_splitter.hpp"
#include "transport/stdio_sink.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <string>
#include <unordered_map>

namespace cmcp {

/// The one client on the standard streams: takes its lines and starts what they ask for.
class stdio_connection : public std::enable_shared_from_this<stdio_connection> {
public:
    stdio_connection(asio::any_io_executor executor, server_core& core, jsonrpc::decode_limits limits,
                     std::shared_ptr<message_sink> sink);

    /// Answers what cannot be read; starts the rest in the order of the lines.
    awaitable<> take(line_splitter::line line);

    task_group& requests() { return requests_; }

private:
    struct batch;
    struct modern_entry;

    awaitable<> refuse(json::value id, rpc_error error);
    void start(jsonrpc::message message, std::shared_ptr<message_sink> reply, std::shared_ptr<batch> whole);
    void start_batch(std::vector<jsonrpc::message> messages);
    awaitable<> run_legacy(jsonrpc::message message, std::shared_ptr<message_sink> reply, std::shared_ptr<batch> whole);
    awaitable<> run_modern(jsonrpc::request request);
    bool cancels_modern(const jsonrpc::message& message);

    server_core& core_;
    jsonrpc::decode_limits limits_;
    std::shared_ptr<message_sink> sink_;
    std::shared_ptr<session> session_;
    std::unordered_map<std::string, std::shared_ptr<asio::cancellation_signal>> modern_;
    task_group requests_;
};

}  // namespace cmcp
