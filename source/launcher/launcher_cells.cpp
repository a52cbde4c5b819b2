#include "jail/setup_step.hpp"
#include "launcher/launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

// Cells that live on when their runs end. launcher.cpp has the loop.
namespace cmcp::sandbox {
namespace {

constexpr const char* full_share =
    "Half of the sandboxes that may be live at once (SANDBOX_MAX_LIVE) are yours, and programs run in all of them: end "
    "those programs, or delete a sandbox.";
constexpr const char* full_machine =
    "As many sandboxes are live as SANDBOX_MAX_LIVE allows, and programs run in all of them: try again later.";
constexpr const char* no_terminal =
    "A terminal needs a lasting cell: name one, or start the program without a terminal.";
const std::string not_looked_after = "the launcher could not look after the sandbox's processes: ";

/// A refusal that is a sentence already.
struct cell_refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace

void launcher::start(start_message start, std::vector<unique_fd> descriptors)
{
    const std::uint64_t id = start.id;
    try {
        const run_request& request = start.request;
        if (request.argv.empty()) throw step_failed("read the request: no program", EINVAL);
        const bool lasts = !request.cell.empty() && !start.probe;
        if (!lasts && request.terminal.columns != 0) throw cell_refusal(no_terminal);
        live_cell& in = lasts ? lasting_cell_for(request) : cell_of_its_own(start);
        begin_in(in, {std::move(start), std::move(descriptors)});
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

live_cell& launcher::cell_of_its_own(const start_message& start)
{
    if (start.request.browser) return make_cell(start.request, false, nullptr);
    loaded_interpreter* const by = interpreter_for(start.request);
    const auto ready = ready_ ? ready_->take(start, by) : std::nullopt;
    return ready ? *find_cell(*ready) : make_cell(start.request, start.probe, by);
}

// A cell that ends is nobody's any more: the next start of its name gets another. An interpreter that is loaded already
// serves both kinds of runs. A list of programs may not have it, and an image has its own.
live_cell& launcher::lasting_cell_for(const run_request& request)
{
    if (firejail_) throw cell_refusal("Firejail's runs share no processes: start the program without a lasting cell.");
    const cell_name name{request.principal, request.cell};
    for (const auto& [key, each] : live_cells_) {
        if (!each->lasts() || each->ends() || each->name() != name) continue;
        const bool has_other_image = each->image() != request.image && is_empty(*each->own());
        if (each->has_process() && (each->is_outdated() || has_other_image)) {
            each->end();
            continue;
        }
        if (const std::string obstacle = each->obstacle(request); !obstacle.empty()) throw cell_refusal(obstacle);
        return *each;
    }
    make_room_for(request.principal);
    const bool may_interpret = request.programs.all && request.image.empty() && !interpreters_.empty();
    return make_cell(request, false, may_interpret ? interpreters_.back().get() : nullptr);
}

// `by` may have no more clones to give.
live_cell& launcher::make_cell(const run_request& request, bool probe, loaded_interpreter* by)
{
    const std::uint64_t key = next_key();
    live_cell& added = *live_cells_.emplace(key, std::make_unique<live_cell>(parts(), request, probe)).first->second;
    try {
        if (by != nullptr && by->order(key, *added.own())) return added;
        added.launch();
        begin_cell(key, added);
    } catch (...) {
        live_cells_.erase(key);
        throw;
    }
    return added;
}

std::optional<std::uint64_t> launcher::make_ready_cell(const start_message& start, loaded_interpreter* by)
{
    const std::uint64_t key = next_key();
    live_cell& added =
        *live_cells_.emplace(key, std::make_unique<live_cell>(parts(), start.request, false)).first->second;
    added.expect(start);
    try {
        if (by == nullptr) added.launch();
        if (by == nullptr) begin_cell(key, added);
        if (by == nullptr || by->order(key, *added.own())) return key;
    } catch (...) {
        live_cells_.erase(key);
        throw;
    }
    live_cells_.erase(key);
    return std::nullopt;
}

live_cell* launcher::find_cell(std::uint64_t key)
{
    const auto entry = live_cells_.find(key);
    return entry == live_cells_.end() ? nullptr : entry->second.get();
}

// A cell whose first process has gone is lost next, and its starts with it.
void launcher::begin_in(live_cell& in, waiting_start start)
try {
    if (!in.has_process()) {
        in.waiting.push_back(std::move(start));
        return;
    }
    const bool loaded = in.interprets() && interpreter_for(start.start.request) != nullptr;
    constexpr int most_tries = 3;  // an inmate may have killed the programs that stood by
    for (int tries = 0; tries != most_tries; ++tries) {
        program next = in.take_program(start.start, loaded);
        if (!next.begin(*in.own(), start, loaded)) continue;
        const std::uint64_t key = next_key();
        auto begun = std::make_unique<run>(in.own(), std::move(next), start.start, loaded);
        watch_changing(key, *runs_.emplace(key, std::move(begun)).first->second);
        return in.use(start.start, loaded);
    }
    throw step_failed("hand over the run", EPIPE);
} catch (const std::system_error&) {
    in.waiting.push_back(std::move(start));
}

void launcher::begin_waiting(live_cell& in)
{
    for (waiting_start& each : std::exchange(in.waiting, {})) {
        const std::uint64_t id = each.start.id;
        try {
            begin_in(in, std::move(each));
        } catch (const std::exception& failure) {
            refuse(id, explain_setup_failure(failure));
        }
    }
}

// A cell in which nothing runs gives way, the longest unused first.
void launcher::make_room_for(const std::string& principal)
{
    const auto counts = [&](const std::string* whose) {
        return static_cast<std::size_t>(std::ranges::count_if(live_cells_, [&](const auto& entry) {
            return entry.second->lasts() && !entry.second->ends() &&
                   (whose == nullptr || entry.second->name().principal == *whose);
        }));
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
    if (unused == nullptr) throw cell_refusal(own_share_is_used ? full_share : full_machine);
    unused->end();
}

void launcher::begin_cell(std::uint64_t key, live_cell& of)
{
    poll_.add(of.own()->pidfd(), key_tag(key, key_event::ended));
    poll_.add(of.own()->control(), key_tag(key, key_event::said));
    of.prepare();
    begin_waiting(of);
}

void launcher::attach(std::uint64_t key, cloned child)
{
    live_cell* const of = find_cell(key);
    if (of == nullptr) return measurers_.add(std::move(child.pidfd), nullptr);  // it was ended meanwhile
    of->attach(std::move(child));
    begin_cell(key, *of);
}

// A cell that no clone has come for is made without an interpreter; nobody waits for one that was to be ready.
void launcher::lose_clone(std::uint64_t key)
{
    live_cell* const of = find_cell(key);
    if (of == nullptr) return;
    if (!of->interprets() && (of->lasts() || !of->waiting.empty())) return launch_in_its_place(key);
    if (ready_) ready_->lose(key, {});
    lose_starts(*of, "The interpreter's clone could not begin; try again.");
    live_cells_.erase(key);
}

void launcher::launch_in_its_place(std::uint64_t key)
try {
    live_cell& of = *find_cell(key);
    of.launch();
    begin_cell(key, of);
} catch (const std::exception& failure) {
    lose_starts(*find_cell(key), explain_setup_failure(failure));
    live_cells_.erase(key);
}

void launcher::lose_starts(live_cell& of, const std::string& why)
{
    for (const waiting_start& each : std::exchange(of.waiting, {})) refuse(each.start.id, why);
}

void launcher::handle_cell(std::uint64_t key, key_event event)
{
    if (event == key_event::ended)
        lose_cell(key);
    else
        hear_cell(key, event);
}

void launcher::hear_cell(std::uint64_t key, key_event event)
try {
    live_cell& of = *live_cells_.at(key);
    if (event == key_event::measured)
        of.own()->hear_figures();
    else if (!of.hear())
        poll_.remove(of.own()->control());
    hear_programs(of);
    hand_on_sockets(of);
    poll_.replace(watched_[key].figures, of.own()->figures(), key_tag(key, key_event::measured));
} catch (const std::exception& failure) {
    live_cells_.at(key)->own()->give_up(not_looked_after + failure.what());
}

void launcher::hear_programs(live_cell& in)
{
    tell_findings(*in.own());
    for (const live_cell::missing_program& each : in.take_missing())
        if (const auto key = run_in(in, each.number)) {
            find(*key)->fail(each.why);
            report(*key);
        }
    for (const program_end& each : in.take_ends())
        if (const auto key = run_in(in, each.number)) {
            find(*key)->hear_end(each);
            report(*key);
        }
}

void launcher::look_at_cells(steady_time now)
{
    for (const auto& [key, each] : live_cells_)
        if (now >= each->next_event()) {
            try {
                each->look(now);
                rest_or_watch(key, *each);
            } catch (const std::exception& failure) {
                each->own()->give_up(not_looked_after + failure.what());
            }
        }
}

// Nothing of a cell without a process can change, so nothing measures it.
void launcher::rest_or_watch(std::uint64_t key, live_cell& of)
{
    cell& in = *of.own();
    const bool empty = is_empty(in);
    if (empty) unwatch_changing(key);
    if (empty) return in.rest();
    poll_.replace(watched_[key].figures, in.figures(), key_tag(key, key_event::measured));
}

bool launcher::is_empty(const cell& in) const { return runs_in(in).empty() && in.processes() == 0; }

std::optional<std::uint64_t> launcher::run_in(const live_cell& of, std::uint32_t number) const
{
    for (const std::uint64_t key : runs_in(*of.own()))
        if (runs_.at(key)->number() == number) return key;
    return std::nullopt;
}

std::vector<std::uint64_t> launcher::runs_in(const cell& in) const
{
    std::vector<std::uint64_t> keys;
    for (const auto& [key, each] : runs_)
        if (&each->in() == &in) keys.push_back(key);
    return keys;
}

// Its first process has ended, and everything with it.
void launcher::lose_cell(std::uint64_t key)
{
    live_cell& lost = *live_cells_.at(key);
    cell& in = *lost.own();
    unwatch_changing(key);
    poll_.remove(in.pidfd());
    poll_.remove(in.control());
    std::string why;
    try {
        why = in.finish([&] { return lost.hear(); });
    } catch (const std::exception&) {  // its processes have ended; only the figures are lost
    }
    if (!lost.failure().empty()) why = lost.failure();
    hear_programs(lost);
    for (const std::uint64_t each : runs_in(in)) {
        find(each)->fail(why);
        report(each);
    }
    if (ready_) ready_->lose(key, why);
    const std::unique_ptr<live_cell> last = std::move(live_cells_.at(key));
    live_cells_.erase(key);
    lose_starts(*last, why.empty() ? "The run could not be started, because its first process ended; try again." : why);
    last->refuse_sockets();
    hand_on_sockets(*last);
    for (const std::uint64_t question : last->asked_for_end) tell_cell_is_gone(question);
}

void launcher::open_socket(const socket_question& question)
{
    for (const auto& [key, each] : live_cells_) {
        if (!each->lasts() || each->ends() || each->name() != question.cell) continue;
        each->ask_socket(question);
        return hand_on_sockets(*each);
    }
    send(encode_socket({question.id, "Nothing runs in the sandbox."}));
}

void launcher::hand_on_sockets(live_cell& from)
{
    for (handed_socket& each : from.take_sockets()) send(encode_socket(each.answer), std::move(each.socket));
}

// The answer comes with the end of its first process.
void launcher::end_cell(const end_cell_message& order)
{
    bool lives = false;
    for (const auto& [key, each] : live_cells_) {
        if (!each->lasts() || each->name() != order.name) continue;
        each->end();
        for (const waiting_start& start : std::exchange(each->waiting, {})) tell_cancelled(start.start.id);
        if (!each->has_process()) continue;
        each->asked_for_end.push_back(order.id);
        lives = true;
        break;  // earlier ones have been ended before
    }
    std::erase_if(live_cells_, [&](const auto& entry) {
        return entry.second->lasts() && entry.second->name() == order.name && !entry.second->has_process();
    });
    if (!lives) tell_cell_is_gone(order.id);
}

void launcher::tell_cell_is_gone(std::uint64_t question) { send(encode_cells({question, {}})); }

void launcher::list_cells(std::uint64_t question)
{
    cells_message answer{question, {}};
    for (const auto& [key, each] : live_cells_)
        if (each->lasts() && !each->ends()) answer.cells.push_back(each->state());
    send(encode_cells(answer));
}

}  // namespace cmcp::sandbox
