#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace cmcp::command {

/// What a shell may put in place of the word that is being typed.
struct completion {
    std::string word;
    std::string about{};  ///< a few words; may be empty
};

/// Names that only a server knows, which may stand there, too.
struct completed_names {
    bool sandboxes = false;
    bool jobs = false;
    bool as_paths = false;  ///< sandboxes with a colon behind
};

struct completions {
    std::vector<completion> known{};
    completed_names names{};
};

/// Of the words behind the program's name, the last of which is being typed.
completions complete(const CLI::App& app, const std::vector<std::string>& words);

/// The script by which bash, zsh or fish asks the program; empty for another shell.
std::string_view completion_script(std::string_view shell);

}  // namespace cmcp::command
