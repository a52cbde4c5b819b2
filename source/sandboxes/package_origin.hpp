#pragma once

#include "async/asio.hpp"
#include "sandbox/backend.hpp"

#include <string>
#include <vector>

namespace cmcp {

enum class package_kind { pip, npm };

/// Where packages come from.
struct package_origin {
    std::string index;               ///< http or https URL; empty: not known
    std::vector<std::string> hosts;  ///< further hosts that the index sends to
};

/// The index that pip or npm themselves use where no setting names another. They are asked in the sandbox that `base`
/// describes, which needs no network. Unknown where the program is not installed.
awaitable<package_origin> default_package_origin(sandbox::backend& backend, sandbox::run_request base,
                                                 package_kind kind);

}  // namespace cmcp
