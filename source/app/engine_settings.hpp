#pragma once

#include "config/settings.hpp"
#include "engine/engine_options.hpp"

namespace cmcp {

/// The container engine's options as the settings name them.
engine::engine_options engine_options_from(const settings& config);

}  // namespace cmcp
