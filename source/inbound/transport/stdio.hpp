#pragma once

#include "async/asio.hpp"
#include "mcp/message_sink.hpp"
#include "mcp/server_core.hpp"
#include "transport/descriptor_stream.hpp"
#include "transport/line_splitter.hpp"

#include <functional>
#include <string>

namespace cmcp {

struct http_settings;

/// Serves both eras over two descriptors, one JSON-RPC message a line. Returns when `input` ends and all requests have
/// been answered or, after the drain timeout, cancelled. The same for cancellation. `input_ended` is called when
/// nothing is read any more, before the server refuses new requests.
awaitable<> serve_stdio(server_core& core, const http_settings& config, int input, int output,
                        std::function<void()> input_ended = {});

/// The same for a client beside others, whom its end does not concern: from `input`, of which `lines` may hold a part,
/// to `output`. `profile`: of the tools that it is shown; empty: the server's own choice.
awaitable<> serve_relayed(server_core& core, const http_settings& config, descriptor_stream& input,
                          line_splitter& lines, std::string profile, int output);

/// The answer to a line that is longer than may be.
outgoing refusal_of_long_line();

}  // namespace cmcp
