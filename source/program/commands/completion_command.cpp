#include "commands/commands.hpp"
#include "commands/completion.hpp"
#include "commands/remote_choice.hpp"
#include "config/config_error.hpp"
#include "jsonrpc/read_object.hpp"
#include "server/admin_socket.hpp"

#include <iostream>

namespace cmcp::command {

namespace {

constexpr std::chrono::seconds patience_with_names(2);

void say_names(const server_place& from, const char* list, const char* member, const std::string& start, bool as_paths)
{
    const auto answer = ask_administration(from, "GET", std::string("/admin/") + list, {{}, patience_with_names});
    const auto* rows = answer.body.if_contains(list);
    if (rows == nullptr || !rows->is_array()) return;
    for (const auto& row : rows->get_array()) {
        auto name = text_of(row.as_object(), member);
        if (name.empty()) name = text_of(row.as_object(), "id");
        if (name.starts_with(start))
            std::cout << name << (as_paths ? ":" : "") << '\t' << text_of(row.as_object(), "summary") << '\n';
    }
}

}  // namespace

// A server that is not there has no names: a shell shows no errors between the words.
int complete_names(const loaded_settings& loaded, const completion_words& line)
try {
    const auto from = place_of(loaded.values, line.server);
    const auto& names = line.possible.names;
    if (names.sandboxes) say_names(from, "sandboxes", "name", line.start, names.as_paths);
    if (names.jobs) say_names(from, "jobs", "id", line.start, false);
    return 0;
} catch (const std::exception&) {
    return 0;
}

int show_completions(const completion_words& line)
{
    for (const auto& each : line.possible.known) std::cout << each.word << '\t' << each.about << '\n';
    return 0;
}

int show_completion_script(const std::string& shell)
{
    const auto script = completion_script(shell);
    if (script.empty()) throw config_error("completion takes bash, zsh or fish, not \"" + shell + "\"");
    std::cout << script;
    return 0;
}

}  // namespace cmcp::command
