#include "sandboxes/language_trials.hpp"

#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "sandbox/output_head.hpp"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

namespace cmcp {

namespace {

std::string program_mark(const std::string& path)
{
    struct stat status {};
    std::error_code gone;
    const auto real = std::filesystem::canonical(path, gone).string();
    if (::stat(path.c_str(), &status) != 0) return path;
    return path + '=' + real + ':' + std::to_string(status.st_size) + ':' + std::to_string(status.st_mtim.tv_sec) +
           '.' + std::to_string(status.st_mtim.tv_nsec);
}

// A newer server may show more to a run, and another back end less.
std::string language_mark(const language& of, const std::string& server)
{
    std::string mark = server + ' ' + std::string(of.command) + ' ' + std::string(of.sample);
    for (const auto& program : installed_programs(of)) mark += ' ' + program_mark(program);
    return mark;
}

constexpr std::string_view says_need = " needs ";  // in a sentence that a command of the table prints

std::string sentence_about_need(const std::string& said)
{
    const auto at = said.find(says_need);
    if (at == std::string::npos) return {};
    const auto begin = said.rfind('\n', at) + 1;
    return said.substr(begin, std::min(said.find('\n', at), said.size()) - begin);
}

json::object read_trials(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return jsonrpc::read_object(text);
}

}  // namespace

language_trials::language_trials(parts used, const std::vector<language>& table)
    : used_(std::move(used)), table_(table), tasks_(used_.executor)
{
}

void language_trials::start() { tasks_.spawn("languages", run()); }

awaitable<> language_trials::stop()
{
    constexpr std::chrono::seconds limit{5};
    tasks_.cancel_all();
    co_await tasks_.wait_idle(limit);
}

awaitable<> language_trials::run()
{
    running_ = true;
    co_await read_file();
    auto look = [&table = table_, server = program_mark("/proc/self/exe") + ' ' + std::string(used_.backend.name())] {
        std::vector<std::pair<const language*, std::string>> installed;
        for (const auto& each : table)
            if (!installed_program(each).empty()) installed.emplace_back(&each, language_mark(each, server));
        return installed;
    };
    const auto installed = co_await used_.pool.run(blocking_pool::server, std::move(look));
    for (const auto& [of, mark] : installed) {
        const auto known = kept_.find(of->name);
        if (known != kept_.end() && known->second.mark == mark) results_[std::string(of->name)] = known->second;
    }
    const std::size_t known = results_.size();
    complete_ = known == installed.size();
    tell();
    if (complete_) co_return;
    for (const auto& [of, mark] : installed) {
        if (results_.contains(of->name)) continue;
        co_await try_language(*of, mark);
        tell();
    }
    complete_ = true;
    tell();
    log::info("languages", {{"tried", installed.size() - known}, {"found", json::string(sentence())}});
    co_await write_file();
}

awaitable<> language_trials::try_language(const language& of, std::string mark)
{
    bool sure = true;
    result outcome;
    const auto candidates = installed_programs(of);
    for (const auto& candidate : candidates) {
        const bool works = co_await runs(of, candidate, outcome, sure);
        if (!works) continue;
        outcome.program = candidate;
        outcome.needs.clear();
        break;
    }
    // A trial that was cut off says nothing about the next start.
    if (sure) outcome.mark = std::move(mark);
    results_[std::string(of.name)] = std::move(outcome);
}

// A trial that ends with the launcher is made again.
awaitable<bool> language_trials::runs(const language& of, std::string program, result& outcome, bool& sure)
{
    constexpr int most_tries = 3;
    const auto place = co_await used_.admission.enter("languages");
    sandbox::output_head output;
    sandbox::run_result end;
    for (int tries = 0; place && tries < most_tries && (tries == 0 || end.why == sandbox::cause::lost); ++tries) {
        auto request = used_.maker(of, program, std::string(of.sample));
        request.label = "try " + std::string(of.name);
        end = co_await used_.backend.run(std::move(request), output);
    }
    const bool whole = place && end.why == sandbox::cause::exited;
    const bool works = whole && end.exit_code == 0 && output.both().find("ok") != std::string::npos;
    if (!whole) sure = false;
    if (whole && !works && of.command.find(says_need) != std::string_view::npos)
        outcome.needs = sentence_about_need(output.both());
    if (!works)
        log::info("language_does_not_run", {{"language", json::string(of.name)},
                                            {"program", json::string(program)},
                                            {"said", json::string(output.both().substr(0, 300))}});
    co_return works;
}

awaitable<> language_trials::read_file()
{
    auto work = [path = used_.file] { return read_trials(path); };
    const auto trials = co_await used_.pool.run(blocking_pool::server, std::move(work));
    for (const auto& [name, value] : trials)
        if (const auto* trial = value.if_object())
            kept_[std::string(name)] = {text_of(*trial, "mark"), text_of(*trial, "program"), text_of(*trial, "needs")};
}

awaitable<> language_trials::write_file()
{
    json::object all;
    for (const auto& [name, of] : results_)
        if (!of.mark.empty()) all[name] = json::object{{"mark", of.mark}, {"program", of.program}, {"needs", of.needs}};
    auto work = [path = used_.file, text = json::serialize(all)] {
        const auto fresh = path.string() + ".new";
        std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
        if (!(file << text).flush()) return false;
        std::error_code failure;
        std::filesystem::rename(fresh, path, failure);
        return !failure;
    };
    const bool stored = co_await used_.pool.run(blocking_pool::server, std::move(work));
    if (!stored) log::warning("languages_not_kept", {{"file", json::string(used_.file.string())}});
}

std::vector<std::string> language_trials::working() const
{
    std::vector<std::string> all;
    for (const auto& each : table_) {
        const auto known = results_.find(each.name);
        if (known != results_.end() && !known->second.program.empty()) all.emplace_back(each.name);
    }
    return all;
}

std::string language_trials::sentence() const
{
    std::string text;
    for (const auto& each : working()) text += (text.empty() ? "Languages here: " : ", ") + each;
    std::string needs;
    for (const auto& [name, of] : results_)
        if (!of.needs.empty()) needs += " " + of.needs;
    if (complete_) return (text.empty() ? "No language runs here." : text + ".") + needs;
    return text.empty() ? "Which languages run here is being tried." : text + "; others are being tried.";
}

std::string language_trials::program(const language& of) const
{
    const auto known = results_.find(of.name);
    return known != results_.end() && !known->second.program.empty() ? known->second.program : installed_program(of);
}

awaitable<> language_trials::wait_until_complete(event::clock::duration limit)
{
    const auto until = event::clock::now() + limit;
    while (running_ && !complete_ && event::clock::now() < until) co_await changed_.wait(until);
}

void language_trials::tell()
{
    changed_.notify();
    for (const auto& listener : listeners_) listener();
}

}  // namespace cmcp
