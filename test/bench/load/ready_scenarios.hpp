#pragma once

#include <string_view>
#include <utility>

namespace cmcp::load {

extern const std::string_view scenario_sandboxes;  // scenarios/sandboxes.json
extern const std::string_view scenario_streams;    // scenarios/streams.json
extern const std::string_view scenario_kernels;    // scenarios/kernels.json

/// The ready scenarios by name.
inline const std::pair<std::string_view, const std::string_view&> ready[] = {
    {"sandboxes", scenario_sandboxes}, {"streams", scenario_streams}, {"kernels", scenario_kernels}};

}  // namespace cmcp::load
