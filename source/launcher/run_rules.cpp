#include "launcher/run_rules.hpp"

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
    rules.read_write = {request.workspace_inside, "/tmp", "/dev/shm"};
    for (const char* name : run_devices) rules.read_write.push_back(std::string("/dev/") + name);
    if (files == nullptr) {
        namespace fs = std::filesystem;
        rules.read_execute = {"/usr", request.workspace_inside, "/tmp"};
        for (const char* path : system_folders)
            if (fs::is_directory(path) && !fs::is_symlink(path)) rules.read_execute.emplace_back(path);
        return rules;
    }
    rules.read_execute = files->programs;
    std::copy_if(files->libraries.begin(), files->libraries.end(), std::back_inserter(rules.read_execute),
                 is_elf_interpreter);
    return rules;
}

}  // namespace cmcp::sandbox
