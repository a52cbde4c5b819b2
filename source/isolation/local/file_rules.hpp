#pragma once

#include "local/local_policy.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// What a program may do with a path and all below it, until a longer path says otherwise. own: a folder of the sandbox
/// alone, as /tmp; what the machine has there is hidden.
enum class access_to_files { hidden, own, readable, writable, guarded };

/// guarded: readable below something writable, where it must also not be replaced.
struct file_rule {
    std::string path;  ///< absolute, without links
    access_to_files access = access_to_files::hidden;
    bool is_folder = true;
};

/// The rules of a policy on this machine, one for each path and the shortest path first.
class file_rules {
public:
    /// `working` is the absolute working folder. Paths that do not exist are left out, and named in notes(). Throws
    /// bad_policy.
    file_rules(const local_policy& policy, const std::string& home, const std::string& working);

    const std::vector<file_rule>& all() const { return rules_; }
    const std::vector<std::string>& notes() const { return notes_; }

    /// By the longest path that holds it; "/" is readable.
    access_to_files access(std::string_view path) const;
    bool shows(std::string_view path) const { return access(path) >= access_to_files::readable; }

private:
    void add(const std::string& written, access_to_files access);
    void add_obeyed(const std::string& folder, bool git_settings);
    void keep_last_of_each_path();
    std::string absolute(const std::string& written) const;
    void refuse_planted_link(const std::string& named, const std::string& real) const;

    std::string home_, working_;
    std::vector<file_rule> rules_;
    std::vector<std::string> notes_;
};

}  // namespace cmcp::sandbox
