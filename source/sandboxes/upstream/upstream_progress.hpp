#pragma once

#include <functional>
#include <optional>
#include <string>

namespace cmcp {

/// How far a call is, as its server says.
struct upstream_progress {
    double progress = 0;
    std::optional<double> total{};
    std::string message{};  ///< cleaned and bounded; may be empty
};

/// Called on the io thread while a call waits. May be empty, must not throw.
using upstream_progress_handler = std::function<void(const upstream_progress&)>;

}  // namespace cmcp
