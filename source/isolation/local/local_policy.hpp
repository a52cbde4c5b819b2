#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// What a program may do that `container-mcp run` confines, in the form of sandbox-runtime's settings. Paths are as
/// they were written: absolute, relative to the working folder, or with a leading ~.
struct local_policy {
    std::vector<std::string> allowed_hosts;  ///< as egress_entry reads them: example.org, *.example.org, HOST:PORT
    std::vector<std::string> denied_hosts;   ///< go before
    std::vector<std::string> deny_read, allow_read;
    std::vector<std::string> allow_write, deny_write;
    bool git_settings = false;  ///< .git/config may be written to
};

/// A policy that cannot be used. what() is a sentence for the user.
struct bad_policy : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads settings of sandbox-runtime. `name` stands for the file in sentences. Throws bad_policy.
local_policy read_policy(std::string_view text, const std::string& name);

/// The same form, for people.
std::string write_policy(const local_policy& policy);

/// Without a file: the working folder is written to, the home folder is hidden but for the programs that `path` ($PATH)
/// names there.
local_policy usual_policy(const std::string& home, std::string_view path);

/// Credentials in home folders and of the machine, which no policy shows that does not name them in allowRead.
std::vector<std::string> secret_paths();

/// Files in folders that programs outside obey, such as .bashrc and .git/hooks: nothing writes to those that are there.
std::vector<std::string> obeyed_names(bool git_settings);

}  // namespace cmcp::sandbox
