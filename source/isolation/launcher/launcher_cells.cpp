#include "facilities/setup_step.hpp"
#include "launcher/launcher.hpp"

#include <algorithm>
#include <utility>

// The life of cells. launcher_starts.cpp has how they come about, launcher.cpp the loop.
namespace cmcp::sandbox {
namespace {

const std::string not_looked_after = "the launcher could not look after the sandbox's processes: ";
}  // namespace

live_cell* launcher::find_cell(std::uint64_t key)
{
    const auto entry = live_cells_.find(key);
    return entry == live_cells_.end() ? nullptr : entry->second.get();
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

void launcher::watch_room()
{
    for (const auto& [key, each] : live_cells_) {
        cell& in = *each->own();
        const bool wanted =
            each->has_process() && (in.has_orders() || (!each->waiting.empty() && !each->awaits_doors()));
        if (wanted == in.wants_room) continue;
        in.wants_room = wanted;
        poll_.want_room(in.control(), key_tag(key, key_event::said), wanted);
    }
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
    if (of == nullptr || of->ends()) {  // it was ended meanwhile
        drop_cell(key);
        return measurers_.add(std::move(child.pidfd), nullptr);
    }
    of->attach(std::move(child));
    begin_cell(key, *of);
}

// A cell that no clone has come for is made without an interpreter; nobody waits for one that was to be ready.
void launcher::lose_clone(std::uint64_t key)
{
    live_cell* const of = find_cell(key);
    if (of == nullptr) return;
    const bool is_wanted = of->lasts() || !of->waiting.empty();
    if (is_wanted && !of->ends() && !of->interprets()) return launch_without_clone(key);
    if (ready_) ready_->lose(key, {});
    lose_starts(*of, "The interpreter's clone could not begin; try again.");
    drop_cell(key);
}

// Ends it, if it has a process.
std::unique_ptr<live_cell> launcher::drop_cell(std::uint64_t key)
{
    const auto entry = live_cells_.find(key);
    if (entry == live_cells_.end()) return nullptr;
    std::unique_ptr<live_cell> dropped = std::move(entry->second);
    live_cells_.erase(entry);
    unwatch_changing(key);
    drop_left_in(*dropped->own());
    poll_.remove(dropped->own()->pidfd());
    poll_.remove(dropped->own()->control());
    tell_end_of_doors(*dropped);
    return dropped;
}

void launcher::launch_without_clone(std::uint64_t key)
try {
    live_cell& of = *find_cell(key);
    of.launch();
    begin_cell(key, of);
} catch (const std::exception& failure) {
    lose_starts(*find_cell(key), explain_setup_failure(failure));
    drop_cell(key);
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
    hear_programs(key, of);
    hand_on_sockets(of);
    hand_on_doors(of);
    poll_.replace(watched_[key].figures, of.own()->figures(), key_tag(key, key_event::measured));
} catch (const std::exception& failure) {
    live_cells_.at(key)->own()->give_up(not_looked_after + failure.what());
}

void launcher::hear_programs(std::uint64_t key, live_cell& in)
{
    tell_findings(*in.own());
    for (live_cell::refused_call& each : in.take_refused())
        if (const auto of = run_in(in, each.program)) find(*of)->hear_refused(std::move(each.what));
    for (const live_cell::missing_program& each : in.take_missing())
        if (const auto of = run_in(in, each.number)) {
            find(*of)->fail(each.why);
            report(*of);
        }
    for (const program_end& each : in.take_ends())
        if (const auto of = run_in(in, each.number)) {
            find(*of)->hear_end(each);
            report(*of);
            if (in.lasts() || firejail_) continue;
            unwatch_changing(key);
            in.own()->rest();  // it ends itself, and everything in it has ended
        }
}

void launcher::look_at_cells(steady_time now)
{
    for (const auto& [key, each] : live_cells_)
        if (now >= each->next_event()) {
            try {
                each->tick(now, latest_start_);
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
    hear_programs(key, lost);
    for (const std::uint64_t each : runs_in(in)) {
        find(each)->fail(why);
        report(each);
    }
    if (ready_) ready_->lose(key, why);
    const std::unique_ptr<live_cell> last = drop_cell(key);
    lose_starts(*last, why.empty() ? "The run could not be started, because its first process ended; try again." : why);
    last->refuse_sockets();
    hand_on_sockets(*last);
    for (const std::uint64_t request : last->asked_for_end)
        if (!is_asked(request)) report_cell_gone(request);
}

void launcher::open_socket(const socket_request& request)
{
    live_cell* in = nullptr;
    for (const auto& [key, each] : live_cells_) {
        if (!each->lasts() || each->ends() || each->name() != request.cell) continue;
        if (in == nullptr || each->shape().empty()) in = each.get();
    }
    if (in != nullptr) {
        in->ask_socket(request);
        return hand_on_sockets(*in);
    }
    send(encode_socket({request.id, "Nothing runs in the sandbox."}));
}

void launcher::hand_on_sockets(live_cell& from)
{
    for (handed_socket& each : from.take_sockets()) {
        std::vector<unique_fd> sockets;
        if (each.socket) sockets.push_back(std::move(each.socket));
        send(encode_socket(each.answer), std::move(sockets));
    }
}

// The server has them before the first program can use them.
void launcher::hand_on_doors(live_cell& from)
{
    std::vector<unique_fd> doors = from.take_doors();
    if (doors.empty()) return;
    send(encode_doors(from.name()), std::move(doors));
    begin_waiting(from);
}

// Where a cell of the same name has followed, the server has its doors by now.
void launcher::tell_end_of_doors(const live_cell& of)
{
    const auto follows = [&](const auto& entry) {
        return entry.second->gave_doors() && entry.second->name() == of.name();
    };
    if (of.gave_doors() && std::ranges::none_of(live_cells_, follows)) send(encode_doors(of.name()));
}

// The answer comes with the end of the last one's first process.
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
    }
    std::erase_if(live_cells_, [&](const auto& entry) {
        return entry.second->lasts() && entry.second->name() == order.name && !entry.second->has_process();
    });
    if (!lives) report_cell_gone(order.id);
}

void launcher::hold_cells(bool on)
{
    for (const auto& [key, each] : live_cells_) {
        if (!each->lasts() || !each->has_process()) continue;
        each->own()->hold(on);
    }
}

// Another cell of the same name still has to end.
bool launcher::is_asked(std::uint64_t request) const
{
    return std::ranges::any_of(live_cells_, [request](const auto& entry) {
        return std::ranges::count(entry.second->asked_for_end, request) != 0;
    });
}

void launcher::report_cell_gone(std::uint64_t request) { send(encode_cells({request, {}})); }

void launcher::list_cells(std::uint64_t request)
{
    cells_message answer{request, {}};
    for (const auto& [key, each] : live_cells_)
        if (each->lasts() && !each->ends()) answer.cells.push_back(each->state());
    send(encode_cells(answer));
}

}  // namespace cmcp::sandbox
