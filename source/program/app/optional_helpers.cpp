#include "app/optional_helpers.hpp"

#include "jail/program_view.hpp"
#include "sandbox/output_head.hpp"

#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

namespace cmcp {
namespace {

// Clauses that follow "without pip".
constexpr missing_helper helper_rows[] = {
    {"pip", true, "python3-pip", "install_packages_in_sandbox installs no Python packages"},
    {"bs4", true, "python3-bs4", "web_scrape reads no HTML"},
    {"lxml", true, "python3-lxml", "web_scrape reads no HTML"},
    {"numpy", true, "python3-numpy", "Python runs have no numpy"},
    {"PIL", true, "python3-pil", "view_file shows no large images"},
    {"pdftotext", false, "poppler-utils", "web_scrape reads no PDF and view_file shows none"},
    {"jq", false, "jq", "commands cannot use jq"},
};

sandbox::run_request question_about_modules(std::string interpreter)
{
    std::string code = "import importlib.util\nprint('asked')\nfor name in (";
    for (const auto& each : helper_rows)
        if (each.module) code.append("'").append(each.name).append("', ");
    code += "):\n    if importlib.util.find_spec(name) is None: print(name)\n";
    sandbox::run_request question;
    question.argv = {std::move(interpreter), "-I", "-B", "-c", std::move(code)};
    question.programs.all = true;
    question.limits.wall = std::chrono::seconds(20);
    question.label = "optional helpers";
    return question;
}

}  // namespace

awaitable<std::vector<missing_helper>> find_missing_helpers(sandbox::backend& backend, std::string interpreter)
{
    auto question = question_about_modules(std::move(interpreter));
    sandbox::output_head answer;
    const auto end = co_await backend.run(std::move(question), answer);
    const bool known = end.why == sandbox::cause::exited && answer.out.starts_with("asked\n");
    std::vector<missing_helper> missing;
    for (const auto& row : helper_rows) {
        const std::string name(row.name);
        const bool there = row.module ? answer.out.find("\n" + name + "\n") == std::string::npos
                                      : sandbox::find_program(name).has_value();
        // Where Python itself does not run, that is another problem, which is told elsewhere.
        if (there || (row.module && !known)) continue;
        missing.push_back(row);
    }
    co_return missing;
}

awaitable<sandbox::layer> examine_helpers(sandbox::backend& backend, std::string interpreter)
{
    const auto missing = co_await find_missing_helpers(backend, std::move(interpreter));
    sandbox::layer row{"helpers", sandbox::layer::state::on,
                       "pip, BeautifulSoup, lxml, numpy, Pillow, poppler and jq are installed"};
    std::string command = "apt-get install";
    for (const auto& each : missing) {
        row.detail = row.is == sandbox::layer::state::on ? "" : row.detail + "; ";
        row.detail.append("without ").append(each.name).append(" ").append(each.use);
        row.is = sandbox::layer::state::degraded;
        command.append(" ").append(each.package);
    }
    if (!missing.empty()) row.detail += ": " + command;
    co_return row;
}

}  // namespace cmcp
