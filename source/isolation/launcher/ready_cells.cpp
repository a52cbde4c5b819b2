#include "launcher/ready_cells.hpp"

#include "facilities/setup_step.hpp"
#include "launcher/launcher.hpp"
#include "launcher/workspace_ledger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds quiet{1};
constexpr std::chrono::milliseconds longest_quiet{20};
constexpr std::size_t most_shapes = 4;

std::string identity_of(const workspace_root& root, const std::string& workspace)
try {
    if (workspace.empty()) return {};
    const auto [device, inode] = workspace_ledger::key_of(root.open(workspace, O_PATH).get());
    return std::to_string(device) + ':' + std::to_string(inode);
} catch (const step_failed&) {
    return {};
}

// The same text for starts that one cell can serve. A folder that replaced another is another workspace.
std::string name_of(const workspace_root& root, const run_request& shape)
{
    return encode_start(0, false, shape) + identity_of(root, shape.workspace);
}

// The part of a start that is settled before its run begins; the rest is handed over then. Of a program that is
// executed only the path is settled, because a profile of AppArmor may depend on it; of a shell that can be held also
// the number of its arguments. A clone has the libraries of its interpreter, whatever the run would like.
start_message settled_part(const start_message& start, const loaded_interpreter* by)
{
    start_message settled{0, false, false, false, start.request};
    run_request& request = settled.request;
    request.working_dir.clear();
    request.data_libraries = by != nullptr && by->serves() == loaded_interpreter::role::data;
    request.limits.wall = std::chrono::hours(24);
    request.limits.cpu = std::chrono::seconds(0);
    request.label.clear();
    request.result_channel = false;
    if (by != nullptr) return settled;
    if (!held_kind_of(request)) request.argv.resize(1);
    for (std::size_t i = 1; i < request.argv.size(); ++i) request.argv[i].clear();
    request.environment.clear();
    request.prepared = false;
    return settled;
}

}  // namespace

void refill_pause::run_began()
{
    const auto now = std::chrono::steady_clock::now();
    if (at_ == steady_time::max()) latest_ = now + longest_quiet;
    at_ = now + quiet;
}

bool refill_pause::over(steady_time now, std::size_t running, bool none_left)
{
    static const auto processors = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    if (now < at_) return false;
    const std::size_t most = none_left ? processors : 1;
    const bool waits = running >= most && now < latest_;
    at_ = waits ? now + quiet : steady_time::max();
    return !waits;
}

// Shells are taken once they wait, because one that is not there yet might never be. Other programs need not.
std::optional<std::uint64_t> ready_cells::take(const start_message& start, loaded_interpreter* by)
{
    if (most(by) == 0 || start.probe || start.request.argv.empty()) return std::nullopt;
    const start_message settled = settled_part(start, by);
    const std::string shape = name_of(keeper_.parts().root, settled.request);
    wanted_[by] = {shape, settled};
    refill_.run_began();
    for (const bool must_be_ready : {true, false}) {
        if (!must_be_ready && held_kind_of(settled.request)) break;
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            const std::uint64_t key = cells_[i].key;
            if (cells_[i].shape != shape || (must_be_ready && !keeper_.find_cell(key)->is_ready())) continue;
            cells_.erase(cells_.begin() + static_cast<std::ptrdiff_t>(i--));
            if (by != nullptr) by->note_use();
            if (is_usable(key, start.request)) return key;
            keeper_.find_cell(key)->end();
        }
    }
    return std::nullopt;
}

bool ready_cells::is_usable(std::uint64_t key, const run_request& request) const
{
    const cell& in = *keeper_.find_cell(key)->own();
    return in.has_view_of(request) && in.has_workspace_of(request) && in.is_as_full_as_before();
}

void ready_cells::lose(std::uint64_t key, const std::string& why)
{
    const auto entry = std::find_if(cells_.begin(), cells_.end(), [&](const ready& each) { return each.key == key; });
    if (entry == cells_.end()) return;
    const ready lost = *entry;
    cells_.erase(entry);
    if (const live_cell* const of = keeper_.find_cell(key)) may_hold_ = may_hold_ && of->may_hold();
    if (lost.by != nullptr) lost.by->note_loss(why);
}

std::size_t ready_cells::count(const std::string& shape) const
{
    const auto serves = [&](const ready& each) { return each.shape == shape; };
    return static_cast<std::size_t>(std::count_if(cells_.begin(), cells_.end(), serves));
}

void ready_cells::tick(steady_time now, std::size_t running)
{
    const auto lacks = [&](const auto& entry) { return count(entry.second.shape) == 0; };
    if (!refill_.over(now, running, std::any_of(wanted_.begin(), wanted_.end(), lacks))) return;
    for (const auto& [by, what] : wanted_) refill(by);
}

void ready_cells::refill(loaded_interpreter* by)
{
    while (count(wanted_[by].shape) < most(by))
        if (!make(wanted_[by], by)) break;
    trim(by);
}

// The next start meets the same obstacle and tells it.
bool ready_cells::make(const wanted& what, loaded_interpreter* by)
try {
    if (by != nullptr && !by->is_ready()) return false;
    start_message start = what.start;
    if (by == nullptr && !may_hold_) start.request.argv.resize(1);
    const std::uint64_t key = keeper_.make_ready_cell(start, by);
    if (key == 0) return false;
    cells_.push_back({key, by, what.shape});
    return true;
} catch (const std::exception&) {
    return false;
}

// Ends the cells that have been ready longest for other shapes, where there are more than four shapes' worth. The last
// one of a shape goes only when each shape has no more, so that callers in turn still find one each.
void ready_cells::trim(loaded_interpreter* by)
{
    const auto is_of_kind = [by](const ready& each) { return each.by == by; };
    auto remaining = static_cast<std::size_t>(std::count_if(cells_.begin(), cells_.end(), is_of_kind));
    for (const std::size_t left : {1, 0}) {
        for (std::size_t i = 0; i < cells_.size() && remaining > most_shapes * most(by);) {
            const ready& oldest = cells_[i];
            live_cell& in = *keeper_.find_cell(oldest.key);
            if (oldest.by != by || oldest.shape == wanted_[by].shape || count(oldest.shape) <= left || !in.is_ready()) {
                ++i;
                continue;
            }
            in.end();
            cells_.erase(cells_.begin() + static_cast<std::ptrdiff_t>(i));
            --remaining;
        }
    }
}

}  // namespace cmcp::sandbox
