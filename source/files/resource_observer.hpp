#pragma once

#include "files/file_watch.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace cmcp {

/// Observes the file at `path` beneath `folder` for resource_provider::observe; null where the folder that it would be
/// in does not exist. Throws rpc_error for a path that leads out and where there is no room for another observer.
std::shared_ptr<void> observe_file(file_watch& watch, const std::filesystem::path& folder, const std::string& path,
                                   std::function<void()> changed);

}  // namespace cmcp
