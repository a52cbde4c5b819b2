#pragma once

#include "egress/held_secret.hpp"
#include "wire/run_request.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// Gives a cell the files by which programs trust the sandbox's own authority (`certificate`, PEM) beside those of the
/// system. All runs of a cell have the same ones.
void add_secret_files(sandbox::run_request& request, const std::string& certificate);

/// Gives a run in such a cell the placeholders of its sandbox's secrets, and the variables that lead to the files.
void add_secret_variables(sandbox::run_request& request, const std::vector<held_secret>& secrets);

}  // namespace cmcp
