#pragma once

#include "load/load_options.hpp"

#include <string>
#include <string_view>

namespace cmcp::load {

/// HTTP requests as text. `fields`: further header lines, each with its CRLF.
std::string get_text(const load_options& options, const server_address& to, std::string_view path,
                     std::string_view accept, std::string_view fields);
std::string post_text(const load_options& options, const server_address& to, std::string_view path,
                      std::string_view fields, std::string_view body);

}  // namespace cmcp::load
