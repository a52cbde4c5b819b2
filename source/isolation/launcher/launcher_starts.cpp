#include "facilities/setup_step.hpp"
#include "launcher/launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

// The way of a start into a cell; launcher_cells.cpp has what becomes of that.
namespace cmcp::sandbox {
namespace {

constexpr const char* full_share =
    "Half of the sandboxes that may be live at once (SANDBOX_MAX_LIVE) are yours, and something runs in each of them: "
    "a "
    "call, a job, an open shell or a program in the background. Close shells that are not needed (shell_close), or "
    "call "
    "stop_sandbox with keep_files for one of them: it ends its programs and keeps its files.";
constexpr const char* full_machine =
    "As many sandboxes are live as SANDBOX_MAX_LIVE allows, and something runs in each of them: try again later.";
constexpr const char* no_terminal =
    "A terminal needs a lasting cell: name one, or start the program without a terminal.";

constexpr const char* no_network = "A network needs a lasting cell: name one, or start the program without a network.";
constexpr const char* wrong_doors =
    "A sandbox's network has 32 ports at most, each of them once, but neither 0 nor 3127 or 3128.";

std::string obstacle_to_doors(std::vector<std::uint16_t> ports, bool tools, bool lasts)
{
    if (ports.empty()) return !tools || lasts ? "" : no_network;
    if (!lasts) return no_network;
    ports.push_back(first_proxy_port);
    ports.push_back(tools_port);
    std::ranges::sort(ports);
    const bool twice = std::ranges::adjacent_find(ports) != ports.end();
    return twice || ports.front() == 0 || ports.size() - 2 > most_doors ? wrong_doors : "";
}

constexpr const char* no_files = "Files of its own need a lasting cell: name one, or start the program without them.";
constexpr const char* wrong_files =
    "A cell's own files have names of [a-z0-9_.-], each of them once, and 2 MiB together at most.";

bool is_file_name(std::string_view name)
{
    constexpr std::string_view known = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    constexpr std::size_t longest = 64;
    return !name.empty() && name.size() <= longest && name.front() != '.' &&
           name.find_first_not_of(known) == std::string_view::npos;
}

std::string obstacle_to_files(const std::vector<given_file>& files, bool lasts)
{
    if (files.empty()) return {};
    if (!lasts) return no_files;
    std::size_t bytes = 0;
    std::set<std::string_view> names;
    for (const auto& [name, content] : files) {
        bytes += content.size();
        if (!is_file_name(name) || !names.insert(name).second) return wrong_files;
    }
    return bytes > most_given_bytes ? wrong_files : "";
}

/// A refusal that is a sentence already.
struct cell_refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The same because there are as many lasting cells as there may be.
struct no_room : cell_refusal {
    using cell_refusal::cell_refusal;
};

}  // namespace

void launcher::start(start_message start, std::vector<unique_fd> descriptors)
{
    const std::uint64_t id = start.id;
    try {
        const run_request& request = start.request;
        if (request.argv.empty()) throw step_failed("read the request: no program", EINVAL);
        if (firejail_ && !request.browser) firejail::move_workspace(start.request);
        const bool lasts = !request.cell.empty() && !start.probe;
        if (!lasts && request.terminal.columns != 0) throw cell_refusal(no_terminal);
        if (firejail_ && !request.doors.empty()) throw step_failed("Firejail: a network for the sandbox", ENOTSUP);
        if (const std::string why = obstacle_to_doors(request.doors, request.tools, lasts); !why.empty())
            throw cell_refusal(why);
        if (const std::string why = obstacle_to_files(request.files, lasts); !why.empty()) throw cell_refusal(why);
        live_cell& in = lasts ? lasting_cell_for(start) : cell_of_its_own(start);
        begin_in(in, {std::move(start), std::move(descriptors)});
    } catch (const no_room& full) {
        refuse(id, full.what(), true);
    } catch (const cell_refusal& refusal) {
        refuse(id, refusal.what());
    } catch (const std::exception& failure) {
        refuse(id, explain_setup_failure(failure));
    }
}

loaded_interpreter* launcher::interpreter_for(const run_request& request)
{
    for (const auto& each : interpreters_)
        if (each->stands_in_for(request) && each->is_ready()) return each.get();
    return nullptr;
}

// An interpreting cell of a run's own was made for just such a run.
bool launcher::becomes_loaded(const live_cell& in, const run_request& request) const
{
    const auto stands_in = [&](const auto& each) { return each->stands_in_for(request); };
    return in.interprets() && (!in.lasts() || std::any_of(interpreters_.begin(), interpreters_.end(), stands_in));
}

live_cell& launcher::cell_of_its_own(const start_message& start)
{
    if (start.request.browser) return *find_cell(make_cell(start, nullptr, false));
    loaded_interpreter* const by = interpreter_for(start.request);
    const auto ready = ready_ ? ready_->take(start, by) : std::nullopt;
    return *find_cell(ready ? *ready : make_cell(start, by, false));
}

// An interpreter that is loaded already serves both kinds of runs. Of a list of programs only the cell of Python runs
// may have it, and an image has its own.
loaded_interpreter* launcher::interpreter_of_cells(const run_request& request) const
{
    if (!request.image.empty() || request.machine || interpreters_.empty()) return nullptr;
    loaded_interpreter* const main = interpreters_.back().get();
    return request.programs.all || main->stands_in_for(request) ? main : nullptr;
}

bool launcher::has_nothing(const cell& in) const { return is_empty(in) && !in.has_files_in_memory(); }

// A cell from before the interpreter was loaded would keep Python slow for as long as it lives.
bool launcher::gives_way(const live_cell& in, const run_request& request) const
{
    if (in.is_outdated()) return true;
    if (in.image() != request.image) return is_empty(*in.own());
    const auto* const by = in.interprets() ? nullptr : interpreter_of_cells(request);
    return by != nullptr && by->has_clones() && by->stands_in_for(request) && has_nothing(*in.own());
}

// A cell that ends is nobody's any more: the next start of its name gets another.
live_cell& launcher::lasting_cell_for(const start_message& start)
{
    const run_request& request = start.request;
    if (firejail_) throw cell_refusal("Firejail's runs share no processes: start the program without a lasting cell.");
    const cell_name name{request.principal, request.cell};
    std::optional<std::uint64_t> number;
    for (const auto& [key, each] : live_cells_) {
        if (!each->lasts() || each->ends() || each->name() != name || each->shape() != request.shape) continue;
        // The next look would end it, and with it the run that is to make room.
        if (each->has_process()) each->own()->end_if_full();
        if (each->ends()) continue;
        if (each->has_process() && gives_way(*each, request)) {
            if (has_nothing(*each->own())) number = each->own()->number();
            each->end();
            continue;
        }
        if (const std::string obstacle = each->obstacle(request); !obstacle.empty()) throw cell_refusal(obstacle);
        return *each;
    }
    make_room_for(name);
    live_cell& next = *find_cell(make_cell(start, interpreter_of_cells(request), false));
    if (number) next.own()->stand_in_for(*number);
    return next;
}

// A cell that is to be `ready` is made by a clone or not at all where one is wanted. 0: it was not. Elsewhere the
// launcher's own clone does where `by` has no more to give.
std::uint64_t launcher::make_cell(const start_message& start, loaded_interpreter* by, bool ready)
{
    const std::uint64_t key = next_key();
    auto added = std::make_unique<live_cell>(parts(), start.request, start.probe);
    live_cell& of = *live_cells_.emplace(key, std::move(added)).first->second;
    if (ready) of.expect(start);
    try {
        if (by != nullptr && by->order(key, *of.own())) return key;
        if (ready && by != nullptr) return drop_cell(key), 0;
        of.launch();
        begin_cell(key, of);
        return key;
    } catch (...) {
        drop_cell(key);
        throw;
    }
}

std::uint64_t launcher::make_ready_cell(const start_message& start, loaded_interpreter* by)
{
    return make_cell(start, by, true);
}

// A cell in which nothing runs gives way, the longest unused first. Those of one name count as one.
void launcher::make_room_for(const cell_name& wanted)
{
    const std::string& principal = wanted.principal;
    const auto counts = [&](const std::string* whose) {
        std::set<std::pair<std::string_view, std::string_view>> names;
        for (const auto& [key, each] : live_cells_) {
            const cell_name& name = each->name();
            if (!each->lasts() || each->ends() || name == wanted || (whose != nullptr && name.principal != *whose))
                continue;
            names.emplace(name.principal, name.cell);
        }
        return names.size();
    };
    const std::size_t share = std::max<std::size_t>(1, settings_.cells / 2);
    const bool own_share_is_used = counts(&principal) >= share;
    if (!own_share_is_used && counts(nullptr) < settings_.cells) return;
    live_cell* unused = nullptr;
    for (const auto& [key, each] : live_cells_) {
        if (!each->lasts() || each->ends() || !is_empty(*each->own()) || !each->waiting.empty()) continue;
        if (own_share_is_used && each->name().principal != principal) continue;
        if (unused == nullptr || each->used() < unused->used()) unused = each.get();
    }
    if (unused == nullptr) throw no_room(own_share_is_used ? full_share : full_machine);
    unused->end();
}

// A cell whose first process has gone is lost next, and its starts with it. A first process that is busy takes them one
// after the other.
void launcher::begin_in(live_cell& in, waiting_start start)
try {
    if (!in.has_process() || in.awaits_doors() || !in.waiting.empty() || !in.own()->has_room()) {
        in.waiting.push_back(std::move(start));
        return;
    }
    in.own()->bound_files(start.start.request.limits);
    const bool loaded = becomes_loaded(in, start.start.request);
    constexpr int most_tries = 3;  // an inmate may have killed the programs that stood by
    for (int tries = 1;; ++tries) {
        program next = in.take_program(start.start, loaded);
        const bool begun = next.begin(*in.own(), start, loaded);
        if (!begun && tries != most_tries) continue;  // the first process tells why the last one went
        const std::uint64_t key = next_key();
        runs_.emplace(key, std::make_unique<run>(in.own(), std::move(next), start.start, loaded));
        in.use(start.start, loaded);
        latest_start_ = in.used();
        return look_after(key, [&](run& of) { watch_changing(key, of); });
    }
} catch (const std::system_error&) {
    in.waiting.push_back(std::move(start));
}

}  // namespace cmcp::sandbox
