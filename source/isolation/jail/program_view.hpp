#pragma once

#include "facilities/file_marks.hpp"
#include "wire/run_request.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// The files that make up an allow-list of programs. Every path is absolute, free of symlinks outside, and has the same
/// name inside. Make the links first: they include /bin, /sbin, /lib and /lib64 where these lead into /usr.
struct view_files {
    std::vector<std::string> programs;     ///< regular files to show and allow to execute
    std::vector<std::string> libraries;    ///< shared libraries and the ELF interpreter: show, allow to execute
    std::vector<std::string> directories;  ///< folders to show whole, read-only: standard library, locale
    std::vector<std::pair<std::string, std::string>>
        links;                         ///< (path inside, target): symlinks to make, as absolute targets
    std::vector<std::string> unknown;  ///< names that no folder of PATH has, or that cannot be loaded
    file_marks marks;                  ///< when they are not true any more, the machine has other programs or libraries
};

/// Looks `view.names` up in /usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin and collects the files that they load.
/// `interpreters` are the absolute programs that the run itself needs: they are added as if listed, python with its
/// standard library.
view_files resolve_view(const program_view& view, const std::vector<std::string>& interpreters);

/// The path of a program in these folders, or the path that `name` is; nothing where it cannot be executed.
std::optional<std::string> find_program(const std::string& name);

}  // namespace cmcp::sandbox
