#pragma once

#include "connect/client.hpp"

#include <optional>
#include <string>

namespace cmcp::connect {

/// The client's text with the server under `name`, or without it (`server` is nothing). Throws bad_text or
/// std::runtime_error where the text cannot be edited.
std::string changed_text(const client& of, const std::string& text, const std::string& name,
                         const std::optional<server_entry>& server);

}  // namespace cmcp::connect
