#include "cluster/placement.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr int points_of_server = 64;  // so that each has about the same part of the ring

// The same on all machines and in all versions: FNV-1a, then mixed, because names differ in few bits.
std::uint64_t place_of(std::string_view text, std::uint64_t number)
{
    std::uint64_t hash = 0xcbf29ce484222325ull ^ number;
    for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
    return hash ^ (hash >> 31);
}

double used(std::uint64_t free, std::uint64_t whole)
{
    return whole == 0 ? 0 : 1 - static_cast<double>(std::min(free, whole)) / static_cast<double>(whole);
}

// Runs come and go while a load is told, so they count half; those that wait count whole.
double pressure_of_runs(const server_load& load)
{
    if (load.most_runs == 0) return 0;
    return (static_cast<double>(load.runs) / 2 + static_cast<double>(load.runs_waiting)) /
           static_cast<double>(load.most_runs);
}

constexpr double of_sandbox = 1e-4;  // so that idle servers fill evenly

}  // namespace

double pressure_of(const server_load& load)
{
    return std::max({pressure_of_runs(load), used(load.memory_free, load.memory), used(load.disk_free, load.disk)}) +
           of_sandbox * static_cast<double>(load.sandboxes);
}

namespace {

/// The best place that was seen.
class least_pressure {
public:
    explicit least_pressure(const server_load& own) : least_(own.drains ? 1e9 : pressure_of(own) - worth_passing_on) {}

    void look_at(const std::vector<server_load>& all, std::size_t i)
    {
        if (all[i].drains || pressure_of(all[i]) >= least_) return;
        least_ = pressure_of(all[i]);
        best_ = i;
    }
    std::optional<std::size_t> best() const { return best_; }

private:
    double least_;
    std::optional<std::size_t> best_;
};

}  // namespace

std::optional<std::size_t> place_sandbox(const server_load& own, const std::vector<server_load>& others,
                                         std::minstd_rand& chance)
{
    least_pressure seen(own);
    if (others.empty()) return seen.best();
    std::uniform_int_distribution<std::size_t> any(0, others.size() - 1);
    const auto first = any(chance);
    const auto second = others.size() == 1 ? first : (first + 1 + any(chance) % (others.size() - 1)) % others.size();
    for (const auto i : {first, second}) seen.look_at(others, i);
    return seen.best();
}

std::optional<std::size_t> place_by_pressure(const server_load& own, const std::vector<server_load>& others)
{
    least_pressure seen(own);
    for (std::size_t i = 0; i != others.size(); ++i) seen.look_at(others, i);
    return seen.best();
}

std::optional<std::size_t> place_surplus(const server_load& own, const std::vector<server_load>& others)
{
    std::optional<std::size_t> least;
    std::uint64_t all = own.sandboxes;
    std::uint64_t servers = 1;
    for (std::size_t i = 0; i != others.size(); ++i) {
        if (others[i].drains) continue;
        all += others[i].sandboxes;
        ++servers;
        if (!least || others[i].sandboxes < others[*least].sandboxes) least = i;
    }
    const bool is_surplus = own.sandboxes * servers > all && least && others[*least].sandboxes + 1 < own.sandboxes;
    return is_surplus ? least : std::nullopt;
}

void note_placed(server_load& at)
{
    ++at.sandboxes;
    ++at.runs;
}

home_ring::home_ring(const std::vector<std::string>& names) : names_(names)
{
    points_.reserve(names_.size() * points_of_server);
    for (std::uint32_t i = 0; i != names_.size(); ++i)
        for (std::uint64_t number = 1; number <= points_of_server; ++number)
            points_.emplace_back(place_of(names_[i], number), i);
    std::ranges::sort(points_);
}

const std::string& home_ring::home_of(std::string_view principal,
                                      const std::function<bool(const std::string& name)>& takes) const
{
    const auto begin = std::ranges::lower_bound(points_, std::pair(place_of(principal, 0), std::uint32_t(0)));
    const auto first = static_cast<std::size_t>(begin - points_.begin());
    for (std::size_t i = 0; i != points_.size(); ++i) {
        const auto& name = names_[points_[(first + i) % points_.size()].second];
        if (takes(name)) return name;
    }
    return names_[points_[first % points_.size()].second];
}

std::uint64_t most_homes(std::uint64_t all, std::size_t servers)
{
    constexpr std::uint64_t at_least = 16;  // where there are few, chance decides and nothing is gained
    if (servers == 0) return at_least;
    return std::max<std::uint64_t>(at_least, (all + 1) * 5 / (4 * servers) + 1);
}

}  // namespace cmcp
