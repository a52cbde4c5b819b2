#include "jail/setup_step.hpp"
#include "launcher/launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

// Cells that live on when their runs end. launcher.cpp has the loop.
namespace cmcp::sandbox {
namespace {

constexpr const char* full_share =
    "Half of the sandboxes that may be live at once (SANDBOX_MAX_LIVE) are yours, and programs run in all of them: end "
    "those programs, or delete a sandbox.";
constexpr const char* full_machine =
    "As many sandboxes are live as SANDBOX_MAX_LIVE allows, and programs run in all of them: try again later.";
const std::string not_looked_after = "the launcher could not look after the sandbox's processes: ";

/// A refusal that is a sentence already.
struct cell_refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace

void launcher::start_in_cell(start_message start, std::vector<unique_fd> descriptors)
try {
    if (firejail_) throw cell_refusal("Firejail's runs share no processes: start the program without a lasting cell.");
    if (start.request.argv.empty()) throw step_failed("read the request: no program", EINVAL);
    live_cell& in = cell_for(start.request);
    if (in.has_process()) return begin_in(in, start, descriptors);
    in.waiting.push_back({std::move(start), std::move(descriptors)});
} catch (const cell_refusal& refusal) {
    refuse(start.id, refusal.what());
} catch (const std::exception& failure) {
    refuse(start.id, explain_setup_failure(failure));
}

void launcher::begin_in(live_cell& in, const start_message& start, const std::vector<unique_fd>& descriptors)
try {
    const auto stands_in = [&](const auto& pool) { return pool->stands_in_for(start.request); };
    const bool loaded = in.interprets() && std::any_of(pools_.begin(), pools_.end(), stands_in);
    keep(next_key(), std::make_unique<run>(in.own(), start, descriptors, loaded));
    in.use();
} catch (const std::exception& failure) {
    refuse(start.id, explain_setup_failure(failure));
}

// A cell that ends is nobody's any more: the next start of its name gets another.
live_cell& launcher::cell_for(const run_request& request)
{
    const cell_name name{request.principal, request.cell};
    for (const auto& [key, each] : live_cells_) {
        if (each->ends() || each->name() != name) continue;
        const bool has_other_image = each->image() != request.image && is_empty(*each->own());
        if (each->has_process() && (each->is_outdated() || has_other_image)) {
            each->end();
            continue;
        }
        if (const std::string obstacle = each->obstacle(request); !obstacle.empty()) throw cell_refusal(obstacle);
        return *each;
    }
    make_room_for(request.principal);
    const std::uint64_t key = next_key();
    live_cell& kept = *live_cells_.emplace(key, std::make_unique<live_cell>(parts(), request)).first->second;
    find_process(key, kept);
    return kept;
}

// A cell in which nothing runs gives way, the longest unused first.
void launcher::make_room_for(const std::string& principal)
{
    const auto counts = [&](const std::string* whose) {
        return static_cast<std::size_t>(std::ranges::count_if(live_cells_, [&](const auto& entry) {
            return !entry.second->ends() && (whose == nullptr || entry.second->name().principal == *whose);
        }));
    };
    const std::size_t share = std::max<std::size_t>(1, settings_.cells / 2);
    const bool own_share_is_used = counts(&principal) >= share;
    if (!own_share_is_used && counts(nullptr) < settings_.cells) return;
    live_cell* unused = nullptr;
    for (const auto& [key, each] : live_cells_) {
        if (each->ends() || !is_empty(*each->own()) || !each->waiting.empty()) continue;
        if (own_share_is_used && each->name().principal != principal) continue;
        if (unused == nullptr || each->used() < unused->used()) unused = each.get();
    }
    if (unused == nullptr) throw cell_refusal(own_share_is_used ? full_share : full_machine);
    unused->end();
}

// An interpreter that is loaded already serves both kinds of runs. A list of programs may not have it, and an image has
// its own.
void launcher::find_process(std::uint64_t key, live_cell& of)
try {
    const run_request& shape = of.own()->plan().request;
    if (shape.programs.all && shape.image.empty())
        for (const auto& pool : pools_)
            if (pool->order_for(key, *of.own())) return;
    of.launch();
    begin_cell(key, of);
} catch (...) {
    live_cells_.erase(key);
    throw;
}

void launcher::begin_cell(std::uint64_t key, live_cell& of)
{
    poll_.add(of.own()->pidfd(), key_tag(key, key_event::ended));
    poll_.add(of.own()->control(), key_tag(key, key_event::said));
    for (const waiting_start& each : std::exchange(of.waiting, {})) begin_in(of, each.start, each.descriptors);
}

void launcher::attach(std::uint64_t key, cloned child)
{
    if (const auto in = live_cells_.find(key); in != live_cells_.end()) {
        in->second->attach(std::move(child));
        return begin_cell(key, *in->second);
    }
    run* const of = find(key);
    if (of == nullptr) return measurers_.add(std::move(child.pidfd), nullptr);  // its cell was ended meanwhile
    of->attach(std::move(child));
    watch_run(key);
}

// A cell that no clone has come for is made without an interpreter.
void launcher::lose_clone(std::uint64_t key)
{
    const auto in = live_cells_.find(key);
    if (in == live_cells_.end()) return drop(key);
    try {
        if (in->second->interprets()) throw step_failed("hand over the plan", EAGAIN);
        in->second->launch();
        begin_cell(key, *in->second);
    } catch (const std::exception& failure) {
        const std::vector<waiting_start> starts = std::exchange(in->second->waiting, {});
        live_cells_.erase(in);
        for (const waiting_start& each : starts) refuse(each.start.id, explain_setup_failure(failure));
    }
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
    hand_on_sockets(of);
    poll_.replace(watched_[key].figures, of.own()->figures(), key_tag(key, key_event::measured));
} catch (const std::exception& failure) {
    live_cells_.at(key)->own()->give_up(not_looked_after + failure.what());
}

void launcher::look_at_cells(steady_time now)
{
    for (const auto& [key, each] : live_cells_)
        if (now >= each->own()->next_event()) {
            try {
                each->own()->look(now);
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

std::vector<std::uint64_t> launcher::runs_in(const cell& in) const
{
    std::vector<std::uint64_t> keys;
    for (const auto& [key, each] : runs_)
        if (each->joins(in)) keys.push_back(key);
    return keys;
}

// Its first process has ended, and everything with it.
void launcher::lose_cell(std::uint64_t key)
{
    const std::unique_ptr<live_cell> lost = std::move(live_cells_.at(key));
    live_cells_.erase(key);
    cell& in = *lost->own();
    unwatch_changing(key);
    poll_.remove(in.pidfd());
    poll_.remove(in.control());
    try {
        in.finish([&] { return lost->hear(); });
    } catch (const std::exception&) {  // its processes have ended; only the figures are lost
    }
    lost->refuse_sockets();
    hand_on_sockets(*lost);
    for (const std::uint64_t each : runs_in(in)) {
        run& ended = *find(each);
        ended.lose_cell(lost->failure());
        if (!ended.reported()) send(encode_ended(ended.report()));
        drop(each);
    }
    for (const std::uint64_t question : lost->asked_for_end) tell_cell_is_gone(question);
}

void launcher::open_socket(const socket_question& question)
{
    for (const auto& [key, each] : live_cells_) {
        if (each->ends() || each->name() != question.cell) continue;
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
        if (each->name() != order.name) continue;
        each->end();
        for (const waiting_start& start : std::exchange(each->waiting, {})) tell_cancelled(start.start.id);
        if (!each->has_process()) continue;
        each->asked_for_end.push_back(order.id);
        lives = true;
        break;  // earlier ones have been ended before
    }
    std::erase_if(live_cells_, [&](const auto& entry) {
        return entry.second->name() == order.name && !entry.second->has_process();
    });
    if (!lives) tell_cell_is_gone(order.id);
}

void launcher::tell_cell_is_gone(std::uint64_t question) { send(encode_cells({question, {}})); }

void launcher::list_cells(std::uint64_t question)
{
    cells_message answer{question, {}};
    for (const auto& [key, each] : live_cells_)
        if (!each->ends()) answer.cells.push_back(each->state());
    send(encode_cells(answer));
}

}  // namespace cmcp::sandbox
