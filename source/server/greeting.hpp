#pragma once

#include "config/settings.hpp"
#include "jail/layer.hpp"

#include <string>

namespace cmcp::command {

/// What a start says to a person at a terminal: address, sandbox, Python, browser, and the line to paste into a client.
std::string greeting(const std::string& url, bool loopback, const settings& chosen, const sandbox::layers& found);

}  // namespace cmcp::command
