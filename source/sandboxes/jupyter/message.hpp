#pragma once

#include "jsonrpc/json.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::jupyter {

/// How messages stand in WebSocket messages: as JSON text, or by offsets of JSON parts (v1_protocol).
enum class framing { json, v1 };

inline constexpr std::string_view v1_protocol = "v1.kernel.websocket.jupyter.org";

/// A message of Jupyter's messaging protocol (version 5.3), without buffers.
struct message {
    std::string channel;  ///< shell, control, iopub or stdin
    json::object header;
    json::object parent;
    json::object metadata{};
    json::object content{};
    std::size_t size = 0;        ///< bytes that it came in
    std::string content_text{};  ///< of a message that is written: stands for content, unless it is empty

    std::string_view type() const;
};

/// Nothing where the bytes are no message, or one that is hard to handle: of many thousand values, or with a long
/// header, of which each reply has a copy. What clients send is a few long texts.
std::optional<message> read_message(std::string_view bytes, framing as);
std::string write_message(const message& from, framing as);

/// The header of a message of ours.
json::object new_header(std::string_view type, std::string_view session);

/// A random UUID (RFC 9562, version 4).
std::string new_uuid();

}  // namespace cmcp::jupyter
