#include "runs/error_output.hpp"

#include "text/ascii.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace cmcp {
namespace {

constexpr std::size_t most_paths = 8;
constexpr std::size_t longest_path = 256;
constexpr std::string_view read_only = "Read-only file system";
constexpr std::array<std::string_view, 2> not_permitted{"Permission denied", "Operation not permitted"};
constexpr std::array<std::string_view, 2> quotes{"'", "\xe2\x80\x99"};  // the C locale's and that of UTF-8

bool below(std::string_view path, std::string_view folder)
{
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool may_be_written(std::string_view path, std::string_view workspace)
{
    return below(path, workspace) || below(path, "/tmp") || below(path, "/dev/shm");
}

// Where a path that begins at `at` ends: at its quote, or where the message goes on.
std::size_t end_of_path(std::string_view line, std::size_t at)
{
    std::size_t end = std::min(line.find(": ", at), line.size());
    for (const auto quote : quotes) end = std::min(end, line.find(quote, at));
    return end;
}

// The last path that begins where a word or a quotation does: the programs' own names come first.
std::string_view path_in(std::string_view line)
{
    std::string_view name;
    for (std::size_t at = line.find('/'); at != std::string_view::npos; at = line.find('/', at)) {
        const std::string_view before = line.substr(0, at);
        const bool quoted = before.ends_with('\'') || before.ends_with("\xe2\x80\x98");
        const std::size_t end = end_of_path(line, at);
        if (before.empty() || before.ends_with(' ') || quoted) name = line.substr(at, end - at);
        at = end;
    }
    return name;
}

std::string sentence(std::string_view line, std::string_view workspace)
{
    const bool writing = line.find(read_only) != std::string_view::npos;
    const auto says = [&](std::string_view what) { return line.find(what) != std::string_view::npos; };
    if (!writing && std::none_of(not_permitted.begin(), not_permitted.end(), says)) return {};
    const std::string_view path = path_in(line);
    if (path.empty() || path.size() > longest_path || may_be_written(path, workspace)) return {};
    if (!writing) return "access to " + std::string(path) + ": not permitted in the sandbox";
    return "writing " + std::string(path) + ": read-only in the sandbox, where " + std::string(workspace) +
           ", /tmp and /dev/shm can be written";
}

struct module_packages {
    std::string_view module;
    std::string_view debian;
    std::string_view pip;
};

// Modules that are in wide use; others are called as their package is, as a rule.
constexpr module_packages known_modules[] = {
    {"numpy", "python3-numpy", "numpy"},
    {"pandas", "python3-pandas", "pandas"},
    {"scipy", "python3-scipy", "scipy"},
    {"matplotlib", "python3-matplotlib", "matplotlib"},
    {"sklearn", "python3-sklearn", "scikit-learn"},
    {"seaborn", "python3-seaborn", "seaborn"},
    {"requests", "python3-requests", "requests"},
    {"yaml", "python3-yaml", "pyyaml"},
    {"PIL", "python3-pil", "pillow"},
    {"cv2", "python3-opencv", "opencv-python-headless"},
    {"bs4", "python3-bs4", "beautifulsoup4"},
    {"lxml", "python3-lxml", "lxml"},
    {"sympy", "python3-sympy", "sympy"},
    {"networkx", "python3-networkx", "networkx"},
    {"openpyxl", "python3-openpyxl", "openpyxl"},
    {"pip", "python3-pip", "pip"},
};

std::string missing_module_of(std::string_view errors)
{
    errors = trimmed(errors, " \t\r\n");
    const std::string_view line = errors.substr(errors.rfind('\n') + 1);
    constexpr std::string_view begin = "ModuleNotFoundError: No module named '";
    if (!line.starts_with(begin)) return {};
    const std::string_view name = line.substr(begin.size());
    return std::string(name.substr(0, name.find_first_of(".'")));
}

using signs = std::array<std::string_view, 2>;  // all of them

constexpr signs signs_of_pip[] = {{"Retrying (Retry(total=", "Failed to establish a new connection"},
                                  {"error: externally-managed-environment", ""}};
constexpr signs signs_of_npm[] = {{"npm ERR! code EAI_AGAIN", ""},
                                  {"npm error code EAI_AGAIN", ""},
                                  {"npm ERR! code ECONNREFUSED", ""},
                                  {"npm error code ECONNREFUSED", ""}};
constexpr signs signs_of_terminal[] = {{"Vim: Warning: Output is not to a terminal", ""},
                                       {"Vim: Warning: Input is not from a terminal", ""},
                                       {"top: failed tty get", ""},
                                       {"TERM environment variable not set.", ""},
                                       {"Error opening terminal: ", ""},
                                       {"Too many errors from stdin", "nano"}};

template <std::size_t N>
bool shows(std::string_view errors, const signs (&any)[N])
{
    const auto has = [&](std::string_view sign) { return errors.find(sign) != std::string_view::npos; };
    return std::any_of(std::begin(any), std::end(any), [&](const signs& all) { return has(all[0]) && has(all[1]); });
}

std::string in_a_sandbox(std::string_view package)
{
    return "create_sandbox, then install_packages_in_sandbox with " + std::string(package) +
           ", then execute_python_code";
}

}  // namespace

std::vector<std::string> denied_paths(std::string_view error_output, std::string_view workspace)
{
    std::vector<std::string> paths;
    while (!error_output.empty() && paths.size() < most_paths) {
        const std::size_t end = std::min(error_output.find('\n'), error_output.size());
        std::string said = sentence(error_output.substr(0, end), workspace);
        if (!said.empty() && std::find(paths.begin(), paths.end(), said) == paths.end())
            paths.push_back(std::move(said));
        error_output.remove_prefix(std::min(end + 1, error_output.size()));
    }
    return paths;
}

std::string better_tool_hint(std::string_view errors, const std::vector<std::string>& denied)
{
    const auto refused_host = [](const std::string& each) { return each.find(" is refused: ") != std::string::npos; };
    if (std::any_of(denied.begin(), denied.end(), refused_host)) return {};  // which says what to do
    const std::string begin = "Commands in a sandbox have no network: install_packages_in_sandbox ";
    if (shows(errors, signs_of_pip)) return begin + "brings Python packages.";
    if (shows(errors, signs_of_npm)) return begin + "with manager npm brings packages of npm.";
    if (shows(errors, signs_of_terminal))
        return "This program wants a terminal, which shell_open gives: type with shell_send, read with shell_read.";
    const auto wanted_network = [](const std::string& each) {
        return each.find("the sandbox has no network") != std::string::npos;
    };
    if (std::any_of(denied.begin(), denied.end(), wanted_network))
        return "The sandbox has no network. install_packages_in_sandbox brings packages of pip and npm.";
    return {};
}

std::string missing_module_hint(const std::string& errors, module_source from)
{
    const std::string module = missing_module_of(errors);
    if (module.empty()) return {};
    const auto* row = std::find_if(std::begin(known_modules), std::end(known_modules),
                                   [&](const auto& each) { return each.module == module; });
    const bool known = row != std::end(known_modules);
    const std::string package = known ? std::string(row->pip) : module;
    const std::string begin = "There is no module " + module + " here: ";
    if (from == module_source::sandbox)
        return begin + "install_packages_in_sandbox with " + package + " brings it, if it is a package.";
    std::string server = known ? "install the package " + std::string(row->debian) + " on the server" : "";
    if (from == module_source::server) return begin + (known ? server : "the server's operator can install it") + ".";
    return begin + (known ? server + ", or take a sandbox: " : "if it is a package, take a sandbox: ") +
           in_a_sandbox(package) + ".";
}

}  // namespace cmcp
