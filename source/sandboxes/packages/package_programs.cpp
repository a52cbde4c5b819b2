#include "packages/package_programs.hpp"

#include "jsonrpc/json.hpp"
#include "runs/run_report.hpp"
#include "sandbox/output_head.hpp"
#include "text/utf8_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <exception>
#include <regex>
#include <vector>

namespace cmcp {

namespace {

// pip has no command that tells its default; its models have told it since version 10.
constexpr std::string_view pip_question = R"PY(
import json
from pip._internal.models.index import PyPI
print(json.dumps({'index': PyPI.simple_url, 'hosts': [PyPI.file_storage_domain]}))
)PY";
constexpr std::string_view npm_question = R"PY(
import json, subprocess
answer = subprocess.run(['/usr/bin/npm', 'config', 'get', 'registry'], capture_output=True, text=True, check=True)
print(json.dumps({'index': answer.stdout.strip(), 'hosts': []}))
)PY";

package_origin read_origin(const std::string& text)
{
    package_origin origin;
    try {
        const json::value parsed = json::parse(text);
        for (const auto& host : parsed.at("hosts").as_array()) origin.hosts.emplace_back(host.as_string());
        origin.index = std::string(parsed.at("index").as_string());
    } catch (const std::exception&) {  // Boost.JSON throws other types in other releases
        return {};
    }
    return origin;
}

std::string first_match(const std::string& text, const std::regex& pattern)
{
    std::smatch match;
    return std::regex_search(text, match, pattern) ? match[1].str() : std::string();
}

std::string unknown_package(const std::string& text, package_kind kind, const std::string& index)
{
    static const std::regex none("satisfies the requirement ([^\\s(]+)[^(\\n]*\\(from versions: none\\)");
    static const std::regex other("satisfies the requirement ([^\\s(]+)[^(\\n]*\\(from versions: ");
    static const std::regex npm("404[^\\n]*'([^'\\n]+)' (is not in|could not be found)");
    std::string name = first_match(text, none);
    if (name.empty()) name = first_match(text, npm);
    const std::string no_wheel =
        kind == package_kind::pip ? ", or none with a wheel for this Python (PYPI_ALLOW_SOURCE also takes others)" : "";
    if (!name.empty()) return "There is no package " + name + " at " + index + no_wheel + ". Check the name.";
    name = first_match(text, other);
    return name.empty() ? name : "No version of the package fits " + name + "; the output lists those there are.";
}

// npm installs all that package.json names, and only what this installation names was fetched.
std::string unnamed_package(const std::string& text)
{
    static const std::regex not_there("request to [^ ]*/([^/ ]+) failed: cache mode is");
    std::string name = first_match(text, not_there);
    if (const auto slash = name.find("%2f"); slash != std::string::npos) name.replace(slash, 3, "/");
    if (name.empty()) return name;
    return "The packages of the sandbox need " + name +
           ", too, in a version that is not there: name it in "
           "package_names as well.";
}

}  // namespace

std::string telling_end(std::string_view printed)
{
    constexpr std::size_t most_lines = 30, longest_line = 300;
    std::vector<std::string_view> lines;
    bool in_traceback = false;
    std::size_t left_out = 0;
    for (auto line : split(printed, '\n')) {
        if (line.find_first_not_of(" \r\t") == std::string_view::npos) continue;
        in_traceback = (in_traceback && line.starts_with(' ')) || line.starts_with("Traceback (most recent call last)");
        if (in_traceback)
            ++left_out;
        else
            lines.push_back(line);
    }
    const auto first = lines.size() - std::min(lines.size(), most_lines);
    left_out += first;
    std::string text = left_out > 0 ? "[" + std::to_string(left_out) + " lines are left out]\n" : "";
    for (auto i = first; i < lines.size(); ++i) text.append(utf8_prefix(lines[i], longest_line)).append("\n");
    return text;
}

awaitable<package_origin> default_package_origin(sandbox::backend& backend, sandbox::run_request base,
                                                 package_kind kind)
{
    base.argv.insert(base.argv.end(),
                     {"-I", "-c", std::string(kind == package_kind::pip ? pip_question : npm_question)});
    sandbox::output_head said;
    const auto end = co_await backend.run(std::move(base), said);
    package_origin origin;
    if (end.why == sandbox::cause::exited && end.exit_code == 0) origin = read_origin(said.out);
    co_return origin;
}

std::string package_problem(const run_outcome& run, package_kind kind, const std::deque<egress_refusal>& refusals,
                            const std::string& index, std::string_view longest)
{
    if (!run.refused.empty()) return run.refused;
    if (run.end.why == sandbox::cause::exited && run.end.exit_code == 0) return {};
    if (auto ended = ending_sentence(run, longest); !ended.empty()) return ended;
    const std::string text = run.out + run.err;
    if (!refusals.empty())
        return "The installation was kept from " + refusals.back().host + ": " + refusals.back().sentence +
               (kind == package_kind::pip ? " PYPI_INDEX_URL and PYPI_HOSTS say" : " NPM_REGISTRY_URL says") +
               " what an installation may reach.";
    if (auto unknown = unknown_package(text, kind, index); !unknown.empty()) return unknown;
    if (auto unnamed = unnamed_package(text); !unnamed.empty()) return unnamed;
    if (text.find("No module named pip") != std::string::npos)
        return "pip is not installed on the server; install its package python3-pip there (apt-get install "
               "python3-pip).";
    if (text.find("/usr/bin/npm'") != std::string::npos && text.find("No such file") != std::string::npos)
        return "npm is not installed on the server; install its package npm there (apt-get install npm).";
    return "The installation failed with exit code " + std::to_string(run.end.exit_code) + "; the output says why.";
}

}  // namespace cmcp
