#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp::log {

/// `<kind>-<start>-<number>`, such as `r-x7k2m-41`: names something in the log. `start` is random at each start of the
/// program, so the ids of two starts differ. An id is no secret: its knowledge allows nothing.
std::string next_id(char kind);

/// 1 to `longest` characters of [A-Za-z0-9._-], as in names that a peer gives for our log.
bool is_plain_id(std::string_view text, std::size_t longest = 64);

}  // namespace cmcp::log
