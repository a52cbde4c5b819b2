#pragma once

#include <string_view>

namespace cmcp::sandbox {

/// The Python part of the zygote: functions in a namespace of their own, which no run sees.
extern const std::string_view prelude;

}  // namespace cmcp::sandbox
