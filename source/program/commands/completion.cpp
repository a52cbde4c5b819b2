#include "commands/completion.hpp"

#include "config/setting.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

namespace cmcp::command {

namespace {

constexpr std::string_view for_bash = R"(# bash completion for container-mcp
_container_mcp()
{
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
    if [[ ${COMPREPLY[0]-} == *[=:] ]]; then compopt -o nospace 2> /dev/null; fi
}
complete -o default -F _container_mcp container-mcp
)";

constexpr std::string_view for_zsh = R"(#compdef container-mcp
_container_mcp()
{
    local -a lines described bare
    local line word
    lines=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
    for line in $lines; do
        word=${line%%$'\t'*}
        case $word in
        *[=:]) bare+=("$word") ;;
        ?*) described+=("${word//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    (( $#bare )) && compadd -S '' -a bare
    (( $#described )) && _describe container-mcp described
    (( $#bare + $#described )) || _files
}
if [[ $funcstack[1] == _container_mcp ]]; then _container_mcp "$@"; else compdef _container_mcp container-mcp; fi
)";

constexpr std::string_view for_fish = R"(# fish completion for container-mcp
function __container_mcp_complete
    set -l found (container-mcp __complete -- (commandline -opc)[2..] (commandline -ct) 2> /dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c container-mcp -f -a '(__container_mcp_complete)'
)";

struct named_values {
    std::string_view option;
    std::array<const char*, 4> values;
};
constexpr std::array<named_values, 4> values_of_options{{
    {"--log-level", {"DEBUG", "INFO", "WARNING", "ERROR"}},
    {"--log-format", {"text", "json"}},
    {"--output", {"wide", "json"}},
    {"--scope", {"user", "project"}},
}};

constexpr std::array<const char*, 18> known_clients{
    "claude-code", "claude-desktop", "cursor",  "vscode", "gemini",       "codex", "opencode",  "devin", "windsurf",
    "zed",         "antigravity",    "copilot", "cline",  "cline-vscode", "kiro",  "lm-studio", "junie", "goose"};

/// The command that the words lead to, and what stands behind it.
struct place_in_line {
    const CLI::App* at;
    std::vector<const CLI::App*> way{};
    std::size_t positionals = 0;
    const CLI::Option* awaiting = nullptr;  // its value is being typed
    bool is_program = false;                // behind --
};

const CLI::Option* option_named(const place_in_line& where, const std::string& word)
{
    for (const auto* app : where.way)
        if (const auto* option = app->get_option_no_throw(word)) return option;
    return nullptr;
}

void step(place_in_line& where, const std::string& word)
{
    if (where.awaiting != nullptr) {
        where.awaiting = nullptr;
        return;
    }
    if (word == "--") where.is_program = true;
    if (word.starts_with('-')) {
        const auto* option = word.find('=') == std::string::npos ? option_named(where, word) : nullptr;
        if (option != nullptr && option->get_items_expected_max() > 0) where.awaiting = option;
        return;
    }
    const auto subcommands = where.at->get_subcommands([](const CLI::App*) { return true; });
    const auto named = std::ranges::find(subcommands, word, [](const CLI::App* each) { return each->get_name(); });
    if (named == subcommands.end()) {
        ++where.positionals;
        return;
    }
    where.at = *named;
    where.way.push_back(*named);
    where.positionals = 0;
}

void add_if(completions& to, const std::string& start, std::string word, std::string about = {})
{
    if (word.starts_with(start)) to.known.push_back({std::move(word), std::move(about)});
}

void add_values(completions& to, const std::string& start, const CLI::Option& of)
{
    if (of.check_lname("set"))
        for (const auto& each : setting_table()) add_if(to, start, std::string(each.name) + "=");
    for (const auto& each : values_of_options)
        if (of.check_lname(std::string(each.option.substr(2))))
            for (const char* value : each.values)
                if (value != nullptr) add_if(to, start, value);
}

void add_options_of(completions& to, const std::string& start, const place_in_line& where)
{
    for (const auto* app : where.way)
        for (const auto* option : app->get_options())
            for (const auto& name : option->get_lnames()) add_if(to, start, "--" + name, option->get_description());
}

void add_names(completions& to, const std::string& start, const place_in_line& where)
{
    const auto command = where.way.size() > 1 ? where.way[1]->get_name() : std::string();
    const auto action = where.way.size() > 2 ? where.way[2]->get_name() : std::string();
    const bool is_first = where.positionals == 0;
    to.names.sandboxes = (is_first && (command == "exec" || command == "shell" || command == "logs")) ||
                         (command == "sandboxes" && action == "rm") || command == "cp";
    to.names.jobs = (command == "logs" && is_first) || (command == "jobs" && action == "cancel");
    to.names.as_paths = command == "cp";
    if (command == "connect" && is_first)
        for (const char* client : known_clients) add_if(to, start, client);
    if (command == "completion" && is_first)
        for (const char* shell : {"bash", "zsh", "fish"}) add_if(to, start, shell);
}

}  // namespace

completions complete(const CLI::App& app, const std::vector<std::string>& words)
{
    completions possible;
    if (words.empty()) return possible;
    place_in_line where{&app, {&app}};
    for (auto at = words.begin(); at != words.end() - 1 && !where.is_program; ++at) step(where, *at);
    const auto& start = words.back();
    if (where.is_program) return possible;
    if (where.awaiting != nullptr) {
        add_values(possible, start, *where.awaiting);
        return possible;
    }
    if (start.starts_with('-')) {
        add_options_of(possible, start, where);
        return possible;
    }
    if (where.positionals == 0)
        for (const auto* each : where.at->get_subcommands([](const CLI::App*) { return true; }))
            add_if(possible, start, each->get_name(), each->get_description());
    add_names(possible, start, where);
    return possible;
}

std::string_view completion_script(std::string_view shell)
{
    return shell == "bash" ? for_bash : shell == "zsh" ? for_zsh : shell == "fish" ? for_fish : std::string_view();
}

}  // namespace cmcp::command
