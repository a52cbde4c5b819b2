#pragma once

#include "config/settings.hpp"
#include "engine/engine_options.hpp"

namespace cmcp {

/// What the settings say about the container engine.
engine::engine_options engine_options_from(const settings& chosen);

}  // namespace cmcp
