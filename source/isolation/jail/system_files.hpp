#pragma once

#include "facilities/file_marks.hpp"
#include "jail/tree_builder.hpp"
#include "wire/run_request.hpp"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// The parts of the machine that a root shows.
namespace cmcp::sandbox {

/// Python text to stand before the programs of scripts and of kernels: values as JSON, exit values, streams.
extern const std::string_view python_common;

/// Python text for both, behind python_common: files instead of the windows that code opens to show figures.
extern const std::string_view python_figures;

/// Folders of programs beside /usr: of their own, or links into it.
inline constexpr std::array system_folders{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/// Links /bin, /lib and so on into /usr as the machine does; returns those that are folders of their own.
std::vector<std::string> add_system_links(tree_builder& tree);
void add_all_programs(tree_builder& tree);  ///< with /usr, read-only

void bind_read_only(tree_builder& tree, const std::string& path);  ///< at the same path
void add_device(tree_builder& tree, const std::string& path);
void add_given_files(tree_builder& tree);  ///< those of given_folder, and the folder of run_request::files

void add_git_settings(tree_builder& tree);  ///< of all users, which their own go before

/// In names_folder those names of programs that are usual and missing, as python beside a mere python3.
/// `path_of` finds a program; empty: there is none.
void add_missing_names(tree_builder& tree, const std::function<std::string(const std::string& name)>& path_of);

/// The account with the id 1000.
struct run_account {
    std::string name;
    std::string home;
};
run_account account_of(const run_request& request);  ///< throws step_failed: it cannot have that name

/// The small /etc of a run: generated accounts and names, the loader's cache, the time zone; with `all_programs` also
/// what programs of /usr look for there. Never the host's accounts, keys or host names.
void add_etc_files(tree_builder& tree, const run_account& user, bool all_programs);

/// The entries of the machine's own /etc that a run may see: files, and folders where it may execute every program.
std::vector<std::string> files_of_etc();
std::vector<std::string> folders_of_etc();

/// With these marks untrue, a small /etc made now would be another.
void mark_etc_files(file_marks& marks, bool all_programs);

}  // namespace cmcp::sandbox
