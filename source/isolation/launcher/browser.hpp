#pragma once

#include "jail/jail.hpp"
#include "wire/launcher_options.hpp"
#include "wire/launcher_protocol.hpp"

#include <string>

/// The browser is a run like others but for its program, root, filter and limits, on which the launcher decides.
namespace cmcp::sandbox {

struct view;
class tree_builder;

/// Decides on all of a browser's start that is not the server's. An obstacle in a sentence; empty: it can start.
std::string complete_browser(start_message& start, const browser_program& program);

/// Shows the browser beside the files of other runs its policy, the machine's index of fonts, and its own folder.
/// Throws step_failed.
void add_browser_files(tree_builder& tree, view& filled, const run_request& request);

const bpf_program& browser_filter();  ///< compiled at the first call, in some milliseconds

}  // namespace cmcp::sandbox
