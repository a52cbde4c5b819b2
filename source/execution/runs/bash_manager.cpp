#include "runs/bash_manager.hpp"

#include "jail/program_view.hpp"
#include "runs/python_run.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t longest_command = 1024 * 1024;
constexpr std::size_t longest_argument = 64 * 1024;  // the kernel takes 128 KiB
constexpr std::size_t longest_hint = 240;
constexpr int not_found = 127;
constexpr std::string_view absent_text = "allowed, but not installed on the server";

// Reads the command from descriptor 3 without opening anything again, and leaves the command no descriptor behind.
constexpr const char* read_command = "IFS= read -rd '' -u3; exec 3<&-; eval -- \"$REPLY\"";

bool is_plain(const std::string& name)
{
    return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '+' || c == '-' || c == '[';
    });
}

std::string allowed_hint(const sandbox::program_view& programs)
{
    if (programs.all) return {};
    std::string names;
    for (const std::string& name : programs.names) {
        if (!is_plain(name)) continue;
        if (names.size() + name.size() > longest_hint) {
            names += " ...";
            break;
        }
        names += (names.empty() ? "" : " ") + name;
    }
    return "BASH_ALLOWED_COMMANDS lists what may run: " + names;
}

// The names that may run but do not exist on this machine, between spaces.
std::string not_installed(const sandbox::program_view& programs)
{
    std::string names = " ";
    for (const std::string& name : programs.names)
        if (is_plain(name) && !sandbox::find_program(name)) names += name + " ";
    return names;
}

// Bash calls it for a name that it does not find; sub-shells and scripts inherit it. The texts have no quotes in them.
std::string not_found_handler(const std::string& hint, const std::string& absent)
{
    return "() { case '" + absent + "' in *\" $1 \"*) builtin printf 'bash: %s: " + std::string(absent_text) +
           "; install the package that has it "
           "there (as a rule: apt-get install %s) and restart the server\\n' \"$1\" \"$1\" ;; *) builtin printf 'bash: "
           "%s: not an allowed command "
           "(%s)\\n' \"$1\" '" +
           hint + "' ;; esac >&2; return 127; }";
}

}  // namespace

bash_manager::bash_manager(const execution_settings& config)
    : terms_(run_terms::of_commands(config)),
      hint_(allowed_hint(terms_.programs)),
      absent_(not_installed(terms_.programs))
{
}

std::string bash_manager::problem(const std::string& command)
{
    if (command.find('\0') != std::string::npos) return "command: must not contain a NUL character";
    if (command.size() <= longest_command) return {};
    return "command: " + std::to_string(command.size()) + " bytes are too long, at most " +
           std::to_string(longest_command) +
           " are taken; put the data in a file with file_write and read it from there";
}

// Bash takes a carriage return for a part of the last word of a line. Where all lines end with one, it is an editor's
// or a client's line end.
std::string with_unix_lines(std::string command)
{
    const auto begins_line_end = [&](std::size_t at) { return at + 1 == command.size() || command[at + 1] == '\n'; };
    const auto lines = std::count(command.begin(), command.end(), '\n');
    std::ptrdiff_t of_windows = 0;
    for (auto at = command.find("\r\n"); at != std::string::npos; at = command.find("\r\n", at + 2)) ++of_windows;
    if (lines != of_windows || (lines == 0 && !command.ends_with('\r'))) return command;
    std::string text;
    for (std::size_t at = 0; at < command.size(); ++at)
        if (command[at] != '\r' || !begins_line_end(at)) text += command[at];
    return text;
}

void run_in_bash(sandbox::run_request& request, std::string command)
{
    command = with_unix_lines(std::move(command));
    if (command.size() > longest_argument) request.script = std::exchange(command, read_command);
    request.argv = {"/usr/bin/bash", "--norc", "--noprofile", "-c", "--", std::move(command), "bash"};
}

void give_up_soon_offline(sandbox::run_request& request)
{
    for (const char* retries : {"npm_config_fetch_retries", "PIP_RETRIES", "YARN_HTTP_RETRY", "UV_HTTP_RETRIES",
                                "CARGO_NET_RETRY", "BUNDLE_RETRY"})
        request.environment.emplace_back(retries, "0");
}

void bash_manager::start(sandbox::run_request& request, std::string command, const run_options& options) const
{
    run_in_bash(request, std::move(command));
    add_given_python(request);
    give_up_soon_offline(request);
    if (!hint_.empty())
        request.environment.emplace_back("BASH_FUNC_command_not_found_handle%%", not_found_handler(hint_, absent_));
    terms_.apply(request, options);
}

// What may run is said once a run.
void say_once(std::string& errors, const std::string& hint)
{
    const auto first = errors.find(hint);
    if (first == std::string::npos) return;
    std::string rest;
    for (auto at = first + hint.size(); at < errors.size();) {
        const auto next = std::min(errors.find(hint, at), errors.size());
        rest.append(errors, at, next - at);
        at = next + hint.size();
    }
    errors.replace(first + hint.size(), std::string::npos, rest);
}

// A program named by its path, or started by another program, does not come to the handler above.
void bash_manager::explain(run_outcome& outcome) const
{
    if (hint_.empty()) return;
    say_once(outcome.err, " (" + hint_ + ")");
    if (outcome.end.exit_code != not_found || outcome.end.why != sandbox::cause::exited) return;
    if (outcome.err.find("BASH_ALLOWED_COMMANDS") != std::string::npos ||
        outcome.err.find(absent_text) != std::string::npos)
        return;
    begin_line(outcome.err);
    outcome.err += "(" + hint_ + ")\n";
}

}  // namespace cmcp
