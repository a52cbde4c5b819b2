#include "local/file_rules.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <sys/stat.h>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

// In /run are the sockets of programs outside.
constexpr std::pair<std::string_view, access_to_files> of_every_sandbox[] = {{"/tmp", access_to_files::own},
                                                                             {"/var/tmp", access_to_files::own},
                                                                             {"/dev", access_to_files::own},
                                                                             {"/proc", access_to_files::own},
                                                                             {"/run", access_to_files::hidden}};

bool holds(std::string_view folder, std::string_view path)
{
    if (folder == "/") return true;
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

file_rules::file_rules(const local_policy& policy, const std::string& home, const std::string& working)
    : home_(home), working_(working)
{
    for (const auto& path : policy.deny_read) add(path, access_to_files::hidden);
    for (const auto& path : secret_paths()) add(path, access_to_files::hidden);
    for (const auto& path : policy.allow_read) add(path, access_to_files::readable);
    const std::size_t first_writable = rules_.size();
    for (const auto& path : policy.allow_write) add(path, access_to_files::writable);
    const std::size_t behind = rules_.size();
    for (std::size_t i = first_writable; i != behind; ++i)
        if (rules_[i].is_folder) add_obeyed(std::string(rules_[i].path), policy.git_settings);
    for (const auto& path : policy.deny_write) add(path, access_to_files::guarded);
    keep_last_of_each_path();
}

void file_rules::keep_last_of_each_path()
{
    std::ranges::reverse(rules_);
    std::ranges::stable_sort(rules_, {}, [](const file_rule& each) { return std::pair(each.path.size(), each.path); });
    const auto same = [](const file_rule& one, const file_rule& other) { return one.path == other.path; };
    rules_.erase(std::unique(rules_.begin(), rules_.end(), same), rules_.end());
}

std::string file_rules::absolute(const std::string& written) const
{
    const bool of_home = written == "~" || written.starts_with("~/");
    if (of_home && home_.empty()) return {};
    const fs::path path = of_home ? fs::path(home_ + written.substr(1)) : fs::path(working_) / written;
    std::string plain = path.lexically_normal().string();
    while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
    return plain;
}

// Programs of an earlier run may have put a link into a folder that they could write to.
void file_rules::refuse_planted_link(const std::string& named, const std::string& real) const
{
    for (const file_rule& each : rules_)
        if (each.access == access_to_files::writable && each.path != "/" && holds(each.path, named) &&
            !holds(each.path, real))
            throw bad_policy("allowWrite names " + named + ", which is a link to " + real +
                             " in a folder that programs may write to; name the folder itself.");
}

void file_rules::add(const std::string& written, access_to_files access)
{
    const std::string named = absolute(written);
    if (named.empty()) return;
    std::error_code absent;
    struct stat status {};
    const bool is_there = ::stat(named.c_str(), &status) == 0;  // canonical() looks at each folder on the way
    const fs::path real = is_there ? fs::canonical(named, absent) : fs::path();
    if (!is_there || absent) {
        if (access == access_to_files::writable)
            notes_.push_back("allowWrite names " + named + ", which does not exist; nothing can be written there.");
        return;
    }
    if (access == access_to_files::writable) {
        if (real == "/") throw bad_policy("Programs may not write to all of /; name the folders that they need.");
        refuse_planted_link(named, real.string());
    }
    rules_.push_back({real.string(), access, S_ISDIR(status.st_mode)});
}

// Whoever may rename the folder that holds one of them could make another in its place, so that folder is a mount, too.
void file_rules::add_obeyed(const std::string& folder, bool git_settings)
{
    for (const auto& name : obeyed_names(git_settings)) {
        const fs::path path = fs::path(folder) / name;
        std::error_code absent;
        const auto kind = fs::symlink_status(path, absent).type();
        if (kind != fs::file_type::regular && kind != fs::file_type::directory) continue;
        const std::string holder = path.parent_path().string();
        if (fs::canonical(holder, absent) != holder) continue;  // a link; what it leads to is not written to
        const auto same = [&](const file_rule& each) { return each.path == holder; };
        if (holder != folder && std::ranges::none_of(rules_, same))
            rules_.push_back({holder, access_to_files::writable, true});
        rules_.push_back({path.string(), access_to_files::guarded, kind == fs::file_type::directory});
    }
}

access_to_files file_rules::access(std::string_view path) const
{
    const auto holder = [&](const file_rule& each) { return holds(each.path, path); };
    const auto last = std::find_if(rules_.rbegin(), rules_.rend(), holder);
    const std::size_t length = last == rules_.rend() ? 0 : last->path.size();
    for (const auto& [folder, access] : of_every_sandbox)
        if (folder.size() > length && holds(folder, path)) return access;
    return last == rules_.rend() ? access_to_files::readable : last->access;
}

}  // namespace cmcp::sandbox
