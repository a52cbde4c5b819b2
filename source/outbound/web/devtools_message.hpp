#pragma once

#include "async/sliced_work.hpp"
#include "jsonrpc/json.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace cmcp {

/// The stream to the browser ended: it crashed, was stopped, or sent an invalid message.
struct devtools_closed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Of a message: arrays, objects and commas. What the server asks pages for is a few long texts.
inline constexpr std::size_t most_devtools_values = 50'000;

/// Parses messages, each ended by a NUL byte. Half surrogate pairs, which pages can make and JSON parsers refuse,
/// become U+FFFD. The work throws devtools_closed when a message is no JSON object, too deep, or of too many values.
sliced_work<std::vector<json::object>> parse_devtools(std::string messages);

}  // namespace cmcp
