#include "app/trend_samples.hpp"

#include <array>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>

namespace cmcp {

// proc(5), /proc/stat: user nice system idle iowait irq softirq steal; guests are within user and nice.
trend_samples::processor_time trend_samples::read_processor_time()
{
    constexpr std::size_t idle = 3, waiting_for_disks = 4;
    std::ifstream stat("/proc/stat");
    std::string label;
    std::array<std::uint64_t, 8> spent{};
    stat >> label;
    for (auto& each : spent) stat >> each;
    const auto all = std::accumulate(spent.begin(), spent.end(), std::uint64_t{0});
    return {all - spent[idle] - spent[waiting_for_disks], all};
}

double trend_samples::share_since_last()
{
    const auto before = std::exchange(spent_, read_processor_time());
    if (spent_.all <= before.all || spent_.busy < before.busy) return 0;
    return static_cast<double>(spent_.busy - before.busy) / static_cast<double>(spent_.all - before.all);
}

void trend_samples::add(const levels& now)
{
    const auto before = std::exchange(last_, now);
    auto since = now;
    since.calls -= before.calls;
    since.failures -= before.failures;
    const std::chrono::duration<double> at = std::chrono::system_clock::now().time_since_epoch();
    samples_.add({at.count(), share_since_last(), since});
}

json::array trend_samples::rows() const
{
    json::array rows;
    for (const auto& each : samples_.entries())
        rows.push_back(json::object{{"at", each.at},
                                    {"runs", each.of.runs},
                                    {"runs_waiting", each.of.waiting},
                                    {"calls", each.of.calls},
                                    {"failures", each.of.failures},
                                    {"memory_bytes", each.of.memory},
                                    {"cpu", each.cpu}});
    return rows;
}

}  // namespace cmcp
