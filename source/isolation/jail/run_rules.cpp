#include "jail/run_rules.hpp"

#include "jail/system_files.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace cmcp::sandbox {
namespace {

bool is_elf_interpreter(const std::string& path)
{
    const auto name = path.substr(path.rfind('/') + 1);
    return name.starts_with("ld-") || name.starts_with("ld.so") || name.starts_with("ld64");
}

}  // namespace

landlock_rules rules_of(const run_request& request, const view_files* files)
{
    landlock_rules rules;
    // A run may read every visible file, because its view holds no other.
    rules.read_only = {"/"};
    rules.read_write = {request.workspace_inside, "/tmp", "/dev/shm", "/dev/pts"};
    rules.read_write.insert(rules.read_write.end(), run_devices.begin(), run_devices.end());
    if (!request.image.empty()) {
        rules.read_execute = {"/"};
        return rules;
    }
    if (files == nullptr) {
        rules.read_execute = {"/usr", request.workspace_inside, "/tmp", given_folder};
        for (const char* path : system_folders)
            if (std::filesystem::is_directory(path) && !std::filesystem::is_symlink(path))
                rules.read_execute.emplace_back(path);
        return rules;
    }
    rules.read_execute = files->programs;
    std::ranges::copy_if(files->libraries, std::back_inserter(rules.read_execute), is_elf_interpreter);
    return rules;
}

}  // namespace cmcp::sandbox
