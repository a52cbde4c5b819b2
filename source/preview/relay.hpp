#pragma once

#include "http/exchange.hpp"
#include "preview/relayed_header.hpp"

#include <boost/beast/core/tcp_stream.hpp>

#include <string>

namespace cmcp {

/// Brings a request to the program behind a shown port, and its answer to the client, both as streams: each side waits
/// for the other's slowness. Each request has a connection of its own, so that an answer cannot be taken for another
/// request's. After an accepted WebSocket the bytes of both sides pass as they are, until either ends.
///
/// Returns why there is no answer, a sentence, when none has begun; empty: there is one, or the client is gone. An
/// answer that breaks off ends the client's connection.
awaitable<std::string> relay(exchange& x, boost::beast::tcp_stream port, std::string target, preview_view view);

}  // namespace cmcp
