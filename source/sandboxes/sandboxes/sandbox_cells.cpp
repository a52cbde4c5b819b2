#include "sandboxes/sandbox_cells.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

std::string sandbox_cells::name_of(const sandbox_record& of) const
{
    return backend_.keeps_cells() ? of.id : std::string();
}

awaitable<std::map<std::string, sandbox::cell_state>> sandbox_cells::now()
{
    std::map<std::string, sandbox::cell_state> all;
    auto live = co_await backend_.cells();
    for (auto& each : live) {
        std::string id = each.name.cell;
        const auto [at, first] = all.try_emplace(std::move(id), each);
        if (first) continue;
        at->second.processes += each.processes;
        at->second.memory += each.memory;
        at->second.cpu += each.cpu;
    }
    co_return all;
}

awaitable<std::vector<std::string>> sandbox_cells::at_work()
{
    constexpr int share = 1000;
    const auto live = co_await now();
    const auto before = std::exchange(work_, {});
    const auto time = std::chrono::steady_clock::now();
    const auto little = (time - std::exchange(looked_, time)) / share;
    std::vector<std::string> busy;
    for (const auto& [id, state] : live) {
        work_[id] = state.cpu;
        const auto known = before.find(id);
        if (known != before.end() && state.cpu - known->second > little) busy.push_back(id);
    }
    co_return busy;
}

awaitable<> sandbox_cells::end(sandbox_record of)
{
    sandbox::cell_name cell{of.owner, of.id};
    co_await backend_.end_cell(std::move(cell));
}

void sandbox_cells::hold(bool on) { backend_.hold_cells(on); }

void sandbox_cells::tell_beside(const std::string& id, const std::string& sentence)
{
    std::string& all = beside_[id];
    if (all.find(sentence) == std::string::npos) all += (all.empty() ? "" : " ") + sentence;
}

std::string sandbox_cells::loss_before(const sandbox_record& where, const sandbox::run_result& end)
{
    std::string all = loss(where, end);
    if (const auto beside = beside_.extract(where.id)) all += (all.empty() ? "" : " ") + beside.mapped();
    return all;
}

std::string sandbox_cells::take_told(const std::string& id)
{
    std::string all;
    for (auto* of : {&untold_, &beside_})
        if (const auto sentence = of->extract(id)) all += (all.empty() ? "" : " ") + sentence.mapped();
    return all;
}

// A run that began in an earlier cell may end after one in the present cell.
std::string sandbox_cells::loss(const sandbox_record& where, const sandbox::run_result& end)
{
    auto untold = untold_.extract(where.id);
    if (!untold.empty()) return std::move(untold.mapped());
    if (name_of(where).empty()) return {};
    const std::string gone = ": its /tmp is empty, and what ran in the background is gone. Its files are there.";
    std::uint64_t& last = last_[where.id];
    const bool is_another = last != 0 && end.cell > last;
    last = std::max(last, end.cell);
    if (where.status != "running") return "The sandbox had been " + where.status + gone;
    return is_another ? "The processes of the sandbox had ended since the last run" + gone : "";
}

}  // namespace cmcp
