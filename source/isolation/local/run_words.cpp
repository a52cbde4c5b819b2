#include "local/run_words.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

namespace cmcp::sandbox {

namespace {

constexpr run_option options[] = {
    {"--policy", "FILE", "What it may do, in the form of sandbox-runtime's settings (JSON)"},
    {"--net", "HOST[,HOST]", "Hosts it may reach: example.org, *.example.org, HOST:PORT (may be repeated)"},
    {"--read", "PATH", "A file or folder it may read, too (may be repeated)"},
    {"--write", "PATH", "A file or folder it may write to, too (may be repeated)"},
    {"--timeout", "SECONDS", "End it after this time (exit code 124)"},
    {"--learn", nullptr, "Print on standard error, at the end, the policy that allows what was refused"},
    {"--json", nullptr, "Print on standard error, at the end, how it ended and what was refused (one line of JSON)"},
};

}  // namespace

const std::span<const run_option> run_options(options);

std::string run_help()
{
    std::string text =
        "Usage: container-mcp run [OPTIONS] -- COMMAND [ARGUMENT...]\n\n"
        "Run a program of this machine in a sandbox around the current folder; no server is needed. The program may "
        "write\n"
        "to the current folder and to a /tmp of its own. It may read the system, but not the home folder, and reaches "
        "no\n"
        "network.\n\nOptions:\n";
    for (const run_option& each : options) {
        std::string words =
            std::string("  ") + each.name + (each.value == nullptr ? "" : std::string(" ") + each.value);
        words.resize(std::max<std::size_t>(words.size() + 2, 24), ' ');
        text += words + each.about + "\n";
    }
    return text +
           "\nThe exit code is the program's. 124: its time was over; 125: the sandbox could not be made; 126: the "
           "program\n"
           "cannot be executed; 127: it was not found.\n";
}

namespace {

constexpr std::chrono::hours longest{24 * 365};

std::chrono::milliseconds seconds_of(const std::string& text)
{
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && *end == '\0' && text.find_first_not_of("0123456789.") == std::string::npos;
    if (!is_number || seconds <= 0 || seconds > std::chrono::duration<double>(longest).count())
        throw bad_words("--timeout takes a number of seconds greater than 0, not \"" + text + "\"");
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

void add_hosts(std::vector<std::string>& to, const std::string& text)
{
    for (std::size_t at = 0; at <= text.size();) {
        const auto end = std::min(text.find(',', at), text.size());
        if (end > at) to.push_back(text.substr(at, end - at));
        at = end + 1;
    }
}

}  // namespace

run_words parse_run_words(const std::vector<std::string>& words)
{
    run_words all;
    const std::pair<std::string_view, std::function<void(const std::string&)>> with_value[] = {
        {"--policy", [&](const std::string& text) { all.policy_file = text; }},
        {"--net", [&](const std::string& text) { add_hosts(all.hosts, text); }},
        {"--read", [&](const std::string& text) { all.read.push_back(text); }},
        {"--write", [&](const std::string& text) { all.write.push_back(text); }},
        {"--timeout", [&](const std::string& text) { all.timeout = seconds_of(text); }},
    };
    const std::pair<std::string_view, bool*> flags[] = {
        {"--learn", &all.learn}, {"--json", &all.json}, {"--help", &all.help}, {"-h", &all.help}};
    std::size_t at = 0;
    const auto take = [&](const std::string& word) {
        for (const auto& [name, flag] : flags)
            if (word == name) return *flag = true;
        for (const auto& [name, set] : with_value) {
            const bool is_joined = word.starts_with(std::string(name) + "=");
            if (word != name && !is_joined) continue;
            if (!is_joined && ++at == words.size()) throw bad_words(word + " needs a value");
            const std::string value = is_joined ? word.substr(name.size() + 1) : words[at];
            if (value.empty()) throw bad_words(std::string(name) + " needs a value");
            set(value);
            return true;
        }
        return false;
    };
    for (; at != words.size() && words[at] != "--" && words[at].starts_with('-'); ++at)
        if (!take(words[at])) throw bad_words("unknown option " + words[at]);
    if (at != words.size() && words[at] == "--") ++at;
    all.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    if (all.argv.empty() && !all.help) throw bad_words("no command to run: container-mcp run -- COMMAND");
    return all;
}

}  // namespace cmcp::sandbox
