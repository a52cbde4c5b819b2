#include "runs/file_searcher.hpp"

#include "files/file_error.hpp"
#include "files/file_root.hpp"
#include "files/glob.hpp"
#include "jail/program_view.hpp"
#include "runs/search_rows.hpp"
#include "sandbox/output_head.hpp"
#include "text/folder_names.hpp"
#include "text/utf8_text.hpp"
#include "text/words.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace cmcp {

namespace {

constexpr std::size_t most_output = 8 << 20;
constexpr std::size_t longest_pattern = 4096;
constexpr std::chrono::seconds longest_search(20);
constexpr std::uint64_t memory_of_a_search = 256ull << 20;

/// The files of which the caller wants lines.
class wanted_files {
public:
    explicit wanted_files(const file_search_request& what) : above_(file_path("path", what.path).display())
    {
        if (!what.glob.empty()) glob_.emplace(what.glob);
    }

    bool fit(std::string_view path) const
    {
        if (!glob_) return true;
        const bool below = !above_.empty() && path.starts_with(above_ + "/");
        const auto inside = below ? path.substr(above_.size() + 1) : path;
        return glob_->is_negated() ? glob_->finds(inside) && glob_->finds(path)
                                   : glob_->finds(inside) || glob_->finds(path);
    }

    /// Of names alone, which the program can go by.
    std::vector<std::string> names() const
    {
        // Signs that not all programs read alike are left to fit().
        const auto is_special = [](const std::string& name) {
            constexpr std::array<std::string_view, 5> signs{"**", "\\", "[", "{", "}"};
            const auto has = [&name](std::string_view sign) { return name.find(sign) != std::string::npos; };
            return name.empty() || name.starts_with('!') || std::ranges::any_of(signs, has);
        };
        std::vector<std::string> names;
        if (!glob_ || glob_->is_negated()) return names;
        for (const auto& each : glob_->alternatives()) names.push_back(each.substr(each.rfind('/') + 1));
        if (std::ranges::any_of(names, is_special)) names.clear();
        return names;
    }

private:
    std::string above_;         // the folder that is searched; empty: the whole workspace
    std::optional<glob> glob_;  // nothing: all files
};

// A path into such a folder means it.
std::vector<std::string> folders_left_out(const file_search_request& what)
{
    std::vector<std::string> names;
    const auto parts = split(what.path, '/');
    if (what.everything) return names;
    for (const auto name : folders_of_programs)
        if (std::ranges::find(parts, name) == parts.end()) names.emplace_back(name);
    return names;
}

bool refers_back(std::string_view pattern)
{
    for (auto at = pattern.find('\\'); at != std::string_view::npos && at + 1 < pattern.size();
         at = pattern.find('\\', at + 2))
        if (pattern[at + 1] >= '1' && pattern[at + 1] <= '9') return true;
    return false;
}

// The engine that is quick on every text knows neither look-around nor back-references.
bool needs_backtracking(std::string_view pattern)
{
    constexpr std::array<std::string_view, 4> signs{"(?=", "(?!", "(?<=", "(?<!"};
    const auto has = [pattern](std::string_view sign) { return pattern.find(sign) != std::string_view::npos; };
    return std::ranges::any_of(signs, has) || refers_back(pattern);
}

std::vector<std::string> ripgrep_words(const file_search_request& what)
{
    std::vector<std::string> words{"rg",          "--no-config",   "--no-heading", "--with-filename", "--line-number",
                                   "--null",      "--color=never", "--no-ignore",  "--hidden",        "--no-messages",
                                   "--threads=4", "--crlf",        "--column"};
    if (needs_backtracking(what.pattern)) words.emplace_back("--pcre2");
    for (const auto& name : wanted_files(what).names()) words.push_back("--glob=" + name);
    for (const auto& name : folders_left_out(what)) words.push_back("--glob=!" + name + "/");
    return words;
}

std::vector<std::string> grep_words(const file_search_request& what)
{
    std::vector<std::string> words{"grep", "-rnHIZPs", "--color=never"};
    for (const auto& name : wanted_files(what).names()) words.push_back("--include=" + name);
    for (const auto& name : folders_left_out(what)) words.push_back("--exclude-dir=" + name);
    return words;
}

// For grep, `$` is before a line feed alone; lines of Windows have a carriage return there.
std::string before_line_ends(std::string_view pattern)
{
    std::string out;
    bool in_set = false;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const char c = pattern[at];
        if (c == '$' && !in_set) {
            out += "(?=\\r?$)";
            continue;
        }
        out += c;
        if (c == '\\' && at + 1 < pattern.size()) out += pattern[++at];
        if (c == '[' && !in_set) {
            in_set = true;
            if (at + 1 < pattern.size() && pattern[at + 1] == '^') out += pattern[++at];
            if (at + 1 < pattern.size() && pattern[at + 1] == ']') out += pattern[++at];
        } else if (c == ']') {
            in_set = false;
        }
    }
    return out;
}

void check_pattern(const file_search_request& what)
{
    if (what.pattern.empty()) throw file_error("pattern is empty; file_list lists files.");
    if (what.pattern.size() > longest_pattern) throw file_error("pattern is longer than 4096 bytes.");
    if (what.pattern.find_first_of(std::string_view("\n\0", 2)) != std::string::npos)
        throw file_error("pattern holds a line feed or a NUL character; lines are searched one by one.");
}

// The kernel keeps the path in the folder; the run would see only that it is not there.
void check_path(const std::filesystem::path& folder, const std::string& wanted)
{
    const file_path path("path", wanted);
    const file_root root(folder);
    const unique_fd entry = root.open(path, O_PATH);
    struct stat status {};
    if (::fstat(entry.get(), &status) != 0) path.fail(errno);
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) path.refuse("is neither a folder nor a file.");
}

std::string why_incomplete(const sandbox::run_result& end, std::size_t printed)
{
    using sandbox::cause;
    const std::string advice = "; narrow the search by path, glob or pattern.";
    if (end.why == cause::timeout || end.why == cause::cpu_limit)
        return "The search was ended after 20 s, so there may be more" + advice;
    if (end.why == cause::output_limit || printed >= most_output) return "There is more than was counted" + advice;
    if (end.why != cause::exited) return "The search ended early, so there may be more" + advice;
    return end.exit_code > 1
               ? "Some files could not be searched: they cannot be read, or the pattern takes too long in them."
               : "";
}

// The program names itself; the sentence need not.
std::string without_program(std::string_view said)
{
    constexpr std::string_view grep = "grep: ";
    if (const auto name = said.find(grep); name < 20) said.remove_prefix(name + grep.size());
    std::string text = replace_invalid_utf8(said.substr(0, 600));
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

void check_end_of_search(const sandbox::run_result& end, const sandbox::output_head& output)
{
    using sandbox::cause;
    if (end.why == cause::setup_failed) throw file_error("The search did not begin: " + end.error);
    if (end.why == cause::exited && end.exit_code == 127)
        throw file_error("Neither ripgrep nor grep is installed on the server.");
    if (end.why == cause::exited && end.exit_code > 1 && output.out.empty() && !output.err.empty())
        throw file_error("pattern cannot be searched: " + without_program(output.err));
}

}  // namespace

file_searcher::file_searcher(sandbox::backend& backend, run_admission& admission, blocking_pool& pool, bool ripgrep)
    : backend_(backend), admission_(admission), pool_(pool), ripgrep_(ripgrep)
{
}

bool file_searcher::has_ripgrep() { return sandbox::find_program("rg").has_value(); }

sandbox::run_request file_searcher::request_for(const std::filesystem::path& folder,
                                                const file_search_request& what) const
{
    sandbox::run_request request;
    request.argv = ripgrep_ ? ripgrep_words(what) : grep_words(what);
    request.programs.all = false;
    request.programs.names = {request.argv.front()};
    request.argv.front() = sandbox::find_program(request.argv.front()).value_or("/usr/bin/grep");
    if (what.ignore_case) request.argv.emplace_back("--ignore-case");
    if (what.context > 0) request.argv.push_back("--context=" + std::to_string(what.context));
    const auto path = file_path("path", what.path).relative();
    for (std::string word : {std::string("-e"), ripgrep_ ? what.pattern : before_line_ends(what.pattern),
                             std::string("--"), "./" + (path == "." ? "" : path)})
        request.argv.push_back(std::move(word));
    request.workspace = folder.string();
    request.limits.wall = longest_search;
    request.limits.memory = memory_of_a_search;
    request.limits.processes = 16;
    request.limits.file_size = 1;
    request.limits.workspace_size = request.limits.workspace_files = 0;
    request.limits.output = most_output;
    request.label = "search of files";
    return request;
}

awaitable<file_matches> file_searcher::search(std::string principal, std::filesystem::path folder,
                                              file_search_request what, std::size_t room)
{
    check_pattern(what);
    const wanted_files wanted(what);
    auto check = [folder, path = what.path] { check_path(folder, path); };
    co_await pool_.run(principal, std::move(check));
    const auto slot = co_await admission_.enter(principal);
    if (!slot) throw file_error(busy_sentence);
    auto request = request_for(folder, what);
    request.principal = principal;
    sandbox::output_head output(most_output);
    const auto end = co_await backend_.run(std::move(request), output);
    check_end_of_search(end, output);
    const auto note = why_incomplete(end, output.out.size());
    auto read = [printed = std::move(output.out), wanted, what, room, columns = ripgrep_] {
        // A file has many lines, and they come together.
        std::string last;
        bool fitted = wanted.fit(last);
        const auto fits = [&](std::string_view path) {
            if (path != last) fitted = wanted.fit(last = path);
            return fitted;
        };
        const auto files = read_search(printed, fits, columns);
        return page_of(files, what.offset, what.limit, room);
    };
    auto page = co_await pool_.run(std::move(principal), std::move(read));
    file_matches matches{std::move(page.text), page.matches, page.files, 0, note};
    if (what.offset + page.shown < page.matches) matches.next_offset = what.offset + page.shown;
    co_return matches;
}

}  // namespace cmcp
