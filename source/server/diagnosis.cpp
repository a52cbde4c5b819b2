#include "server/diagnosis.hpp"

#include "server/remedy.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp::command {

namespace {

using state = sandbox::layer::state;

// In the report beside the layers, though no program is confined by them.
constexpr std::array<std::string_view, 4> services{"python_zygote", "helpers", "browser", "engine"};

bool is_service(const sandbox::layer& each)
{
    return std::find(services.begin(), services.end(), each.name) != services.end();
}

bool holds_name(const std::vector<std::string>& names, const std::string& name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Who reads the diagnosis has run doctor, and sees the command below the cause.
std::string bare_cause(std::string cause, const std::string& command)
{
    if (!command.empty() && cause.ends_with(": " + command)) cause.resize(cause.size() - command.size() - 2);
    cause.erase(std::min(cause.size(), cause.find(" Run `container-mcp doctor`")));
    return cause;
}

// True when one of `findings` has the same cause, or the same command: it is then theirs as well.
bool joins(std::vector<finding>& findings, const finding& one)
{
    const auto same = [&](const finding& each) {
        return each.cause == one.cause || (!one.command.empty() && each.command == one.command);
    };
    const auto at = std::find_if(findings.begin(), findings.end(), same);
    if (at != findings.end()) at->layers.push_back(one.layers.front());
    return at != findings.end();
}

}  // namespace

diagnosis diagnose(const sandbox::layers& found, const std::vector<std::string>& required)
{
    diagnosis result;
    std::vector<finding> others;
    const auto blamed = sandbox::blamed(found, required);
    for (const auto& each : found) {
        if (each.is == state::not_asked) continue;
        if (!is_service(each)) ++result.total;
        if (each.is == state::on && !is_service(each)) ++result.on;
        if (each.is == state::on) continue;
        const remedy cure = remedy_of(each);
        const bool needed =
            holds_name(blamed, each.name) || (is_service(each) && each.is == state::off && !cure.optional);
        finding one{{each.name}, bare_cause(each.detail, cure.command), cure.command};
        if (!needed)
            others.push_back(std::move(one));
        else if (!joins(result.problems, one))
            result.problems.push_back(std::move(one));
    }
    for (auto& one : others)
        if (!joins(result.problems, one) && !joins(result.remarks, one)) result.remarks.push_back(std::move(one));
    return result;
}

std::string count_of(const diagnosis& of)
{
    return std::to_string(of.on) + " of " + std::to_string(of.total) + " layers on";
}

std::string sentences_of(const std::vector<finding>& findings)
{
    std::string text;
    for (const auto& each : findings) {
        text += (text.empty() ? "" : " ") + each.cause;
        if (!each.command.empty()) text += " This mends it: " + each.command;
    }
    return text;
}

}  // namespace cmcp::command
