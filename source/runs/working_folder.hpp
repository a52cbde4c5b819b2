#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cmcp {

struct working_folder {
    std::string inside;   ///< absolute path in the sandbox
    std::string problem;  ///< not empty: a sentence naming `working_dir`
};

/// Where a run begins: `asked` is relative to the workspace or absolute inside. A folder of the workspace that is not
/// there is a problem; of other places inside only the sandbox knows. Blocks.
working_folder find_working_folder(std::string_view wanted, const std::filesystem::path& workspace,
                                   std::string_view workspace_inside);

}  // namespace cmcp
