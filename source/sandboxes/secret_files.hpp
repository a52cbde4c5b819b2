#pragma once

#include "egress/held_secret.hpp"
#include "wire/run_request.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// Gives a run the placeholders of its sandbox's secrets, and the files and variables by which programs trust the
/// sandbox's own authority (`certificate`, PEM) beside those of the system.
void add_secrets(sandbox::run_request& request, const std::vector<held_secret>& secrets,
                 const std::string& certificate);

}  // namespace cmcp
