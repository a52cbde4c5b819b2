#pragma once

#include "egress/host.hpp"
#include "egress/name_addresses.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Whether any port of a name may be reached.
using name_judge = std::function<bool(const host& who)>;

/// The answer to a DNS query of a sandbox; nothing when it gets none. An allowed name has the addresses that stand for
/// it and no other records, every other name does not exist, because a refusal would be asked again. Nobody else is
/// asked, so a query tells nothing to the outside.
std::optional<std::string> answer_names(std::string_view message, name_addresses& names, const name_judge& judge);

}  // namespace cmcp
