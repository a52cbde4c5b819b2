#include "sandboxes/package_problem.hpp"

#include "runs/run_report.hpp"

#include <regex>

namespace cmcp {

namespace {

std::string first_match(const std::string& text, const std::regex& pattern)
{
    std::smatch match;
    return std::regex_search(text, match, pattern) ? match[1].str() : std::string();
}

std::string unknown_package(const std::string& text, const std::string& index)
{
    static const std::regex none("satisfies the requirement ([^\\s(]+)[^(\\n]*\\(from versions: none\\)");
    static const std::regex other("satisfies the requirement ([^\\s(]+)[^(\\n]*\\(from versions: ");
    static const std::regex npm("404[^\\n]*'([^'\\n]+)' is not in");
    std::string name = first_match(text, none);
    if (name.empty()) name = first_match(text, npm);
    if (!name.empty())
        return "There is no package " + name + " at " + index +
               ", or none with a wheel for this Python (PYPI_ALLOW_SOURCE also takes others). Check the name.";
    name = first_match(text, other);
    return name.empty() ? name : "No version of the package fits " + name + "; the output lists those there are.";
}

}  // namespace

std::string package_problem(const run_outcome& run, package_kind kind, const std::deque<egress_refusal>& refusals,
                            const std::string& index)
{
    if (!run.refused.empty()) return run.refused;
    if (run.end.why == sandbox::cause::exited && run.end.exit_code == 0) return {};
    if (auto ended = ending_sentence(run, "SANDBOX_INSTALL_TIMEOUT"); !ended.empty()) return ended;
    const std::string text = run.out + run.err;
    if (!refusals.empty())
        return "The installation was kept from " + refusals.back().host + ": " + refusals.back().sentence +
               (kind == package_kind::pip ? " PYPI_INDEX_URL and PYPI_HOSTS say" : " NPM_REGISTRY_URL says") +
               " what an installation may reach.";
    if (auto unknown = unknown_package(text, index); !unknown.empty()) return unknown;
    if (text.find("No module named pip") != std::string::npos)
        return "pip is not installed on the server; install its package python3-pip there (apt-get install "
               "python3-pip).";
    if (text.find("/usr/bin/npm'") != std::string::npos && text.find("No such file") != std::string::npos)
        return "npm is not installed on the server; install its package npm there (apt-get install npm).";
    return "The installation failed with exit code " + std::to_string(run.end.exit_code) + "; the output says why.";
}

}  // namespace cmcp
