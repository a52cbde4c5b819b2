#pragma once

#include "http/bound_address.hpp"
#include "probe/layer.hpp"

#include <string>

namespace cmcp {
struct settings;
}  // namespace cmcp

namespace cmcp::command {

/// Address, sandbox, Python, browser, tokens and the line to paste into a client.
std::string greeting(const bound_address& bound, const settings& config, const sandbox::layers& layers);

}  // namespace cmcp::command
