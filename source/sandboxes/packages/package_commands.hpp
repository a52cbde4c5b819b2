#pragma once

#include "packages/package_index.hpp"
#include "packages/package_programs.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// Throws sandbox_error for what is no package with an optional version.
void check_package_names(package_kind kind, const std::vector<std::string>& names);

/// An index without the user name and password that its URL may hold.
struct index_address {
    web_url url;
    std::string authorization;  ///< the same as a header; empty: none
};

/// Throws sandbox_error for text that is no http or https URL.
index_address read_index_address(package_kind kind, const std::string& text);

/// Packages to install and the way to them.
struct package_order {
    package_kind kind = package_kind::pip;
    std::vector<std::string> names;
    std::string program;  ///< npm, as a run calls it; pip is part of the run's interpreter
    bool source = false;  ///< also packages that must be built, and scripts of packages
};

/// The words of pip, or the command of npm, for package_fetcher, that put the packages and what they need into the
/// folder `packages`, in a run that has nothing but the door to the index (package_door.hpp).
std::vector<std::string> fetching_command(const package_order& order, const package_index& index);

/// The words of pip or npm, for package_installer, that install them without any network.
std::vector<std::string> installing_words(const package_order& order, const package_index& index);

}  // namespace cmcp
