#pragma once

#include "identity/login.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// The rights by which programs of sandboxes call tools.
class code_gateway {
public:
    virtual ~code_gateway() = default;

    /// Whose calls the ticket of a run in this sandbox makes; null: it is none, or its run has ended.
    virtual login_ptr login_of(std::string_view ticket, const std::string& sandbox) const = 0;

    /// Counts a call. False: the run has made all that it may make.
    virtual bool take_call(std::string_view ticket) = 0;
};

}  // namespace cmcp
