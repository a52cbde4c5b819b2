#pragma once

#include "jsonrpc/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::sandbox {

/// Kind ("user", "pid", …) to inode number of each namespace of this process; a kind that cannot be read is left out.
json::object namespace_facts();

/// How many Landlock rule sets can still be put on this process (the kernel's limit is 16); -1 where that cannot be
/// known.
int landlock_levels_left();

/// Names of calls that every run must be refused, to true when this process was refused them.
json::object refusal_facts();

/// "interfaces": those that are up; "unreachable": whether an address outside is refused at once, by IPv4 and IPv6.
json::object network_facts();

/// Name of a resource to the hard limit in force; -1: none.
json::object limit_facts();

/// Facts of a probe. A fact that is missing or of another kind counts as the bad case: no layer is on because nobody
/// looked.
std::optional<std::int64_t> number(const json::object& facts, std::string_view name);
std::optional<std::string> text(const json::object& facts, std::string_view name);

}  // namespace cmcp::sandbox
