#include "jail/setup_step.hpp"
#include "launcher/launcher.hpp"

#include <algorithm>
#include <stdexcept>

// Cells that live on when their runs end. launcher.cpp has the loop.
namespace cmcp::sandbox {
namespace {

/// A refusal that is a sentence already.
struct cell_refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace

void launcher::start_in_cell(const start_message& start, const std::vector<unique_fd>& descriptors)
try {
    if (firejail_) throw cell_refusal("Firejail's runs share no processes: start the program without a lasting cell.");
    if (start.request.argv.empty()) throw step_failed("read the request: no program", EINVAL);
    const live_cell& in = cell_for(start.request);
    const std::uint64_t key = next_key();
    keep(key, std::make_unique<run>(in.own(), start, descriptors));
} catch (const cell_refusal& refusal) {
    refuse(start.id, refusal.what());
} catch (const std::exception& failure) {
    refuse(start.id, explain_setup_failure(failure));
}

// A cell that ends is nobody's any more: the next start of its name gets another.
live_cell& launcher::cell_for(const run_request& request)
{
    const cell_name name{request.principal, request.cell};
    for (const auto& [key, each] : live_cells_) {
        if (each->ends() || each->name() != name) continue;
        if (each->is_outdated()) {
            each->end();
            continue;
        }
        if (const std::string obstacle = each->obstacle(request); !obstacle.empty()) throw cell_refusal(obstacle);
        return *each;
    }
    const std::uint64_t key = next_key();
    live_cell& fresh = *live_cells_.emplace(key, std::make_unique<live_cell>(parts(), key, request)).first->second;
    poll_.add(fresh.own()->pidfd(), key_tag(key, key_event::ended));
    poll_.add(fresh.own()->control(), key_tag(key, key_event::said));
    return fresh;
}

void launcher::handle_cell(std::uint64_t key, key_event event)
try {
    live_cell& of = *live_cells_.at(key);
    if (event == key_event::ended) return lose_cell(key);
    if (event == key_event::measured)
        of.own()->hear_figures();
    else if (!of.hear())
        poll_.remove(of.own()->control());
    poll_.replace(watched_[key].figures, of.own()->figures(), key_tag(key, key_event::measured));
} catch (const std::exception& failure) {
    live_cells_.at(key)->own()->give_up(std::string("the launcher could not look after it: ") + failure.what());
}

void launcher::look_at_cells(steady_time now)
{
    for (const auto& [key, each] : live_cells_)
        if (now >= each->own()->next_event()) {
            try {
                each->own()->look(now);
                rest_or_watch(key, *each);
            } catch (const std::exception& failure) {
                each->own()->give_up(std::string("the launcher could not look after it: ") + failure.what());
            }
        }
}

// Nothing of a cell without a process can change, so nothing measures it.
void launcher::rest_or_watch(std::uint64_t key, live_cell& of)
{
    cell& in = *of.own();
    const bool empty = runs_in(in).empty() && in.processes() == 0;
    if (empty) unwatch_changing(key);
    if (empty) return in.rest();
    poll_.replace(watched_[key].figures, in.figures(), key_tag(key, key_event::measured));
}

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
    in.finish([&] { return lost->hear(); });
    for (const std::uint64_t each : runs_in(in)) {
        run& ended = *find(each);
        ended.lose_cell(lost->failure());
        if (!ended.reported()) send(encode_ended(ended.report()));
        drop(each);
    }
}

void launcher::end_cell(const cell_name& name)
{
    for (const auto& [key, each] : live_cells_)
        if (each->name() == name) each->end();
}

void launcher::list_cells(std::uint64_t question)
{
    cells_message answer{question, {}};
    for (const auto& [key, each] : live_cells_)
        if (!each->ends()) answer.cells.push_back(each->state());
    send(encode_cells(answer));
}

}  // namespace cmcp::sandbox
