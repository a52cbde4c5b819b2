#pragma once

#include "jail/program_view.hpp"

#include <string>
#include <vector>

/// Firejail's orders, in the form of firejail-profile(5) and firejail(1). They hide every file that they do not name.
namespace cmcp::sandbox {

struct firejail_shape {
    bool as_root = false;  ///< the launcher is root: no user namespace, and the run's user is taken inside
    bool all_programs = true;
    view_files files{};     ///< under an allow-list: the visible files of /usr
    view_files launcher{};  ///< likewise: of the launcher program, which is started once more inside
    std::string hosts;      ///< path of the file that becomes /etc/hosts
};

/// The text of the profile for runs of this shape, on this machine as it is now.
std::string firejail_profile(const firejail_shape& shape);

/// The options for one run's workspace, an absolute path without links. Throws step_failed when Firejail could take it
/// for something else.
std::vector<std::string> workspace_options(const std::string& workspace, bool may_execute);

}  // namespace cmcp::sandbox
