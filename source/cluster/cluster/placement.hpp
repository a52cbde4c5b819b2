#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

// Where new sandboxes go in a cluster. Nothing here asks anybody: test/cluster/cluster/placement.cpp fills
// 10,000 servers by it.

/// How full a server is, as it says itself.
struct server_load {
    std::uint64_t runs = 0, most_runs = 0, runs_waiting = 0;
    std::uint64_t sandboxes = 0;
    std::uint64_t homes = 0;
    std::uint64_t memory_free = 0, memory = 0;  ///< bytes; 0 of 0: not known
    std::uint64_t disk_free = 0, disk = 0;      ///< the same
    bool drains = false;                        ///< takes nothing new
};

/// 0 idle, 1 full, above 1 what waits: the scarcest of runs, memory and disk.
double pressure_of(const server_load& load);

/// A server that takes work does so while it is not much fuller than others: passing on costs, too.
inline constexpr double worth_passing_on = 0.1;

/// The index of the one among `others` that should get a new sandbox in place of this server: of two by chance the one
/// with less pressure. Nothing: this server itself.
std::optional<std::size_t> place_sandbox(const server_load& own, const std::vector<server_load>& others,
                                         std::minstd_rand& chance);

/// The index of the one with the least pressure, of all that fit; the others drain.
std::optional<std::size_t> place_by_pressure(const server_load& own, const std::vector<server_load>& others);

/// The index of the one among `others` that should get a sandbox which this server gives away because it has more than
/// the mean of all that take some: the one with the fewest. Nothing: it has not more, or nobody takes any.
std::optional<std::size_t> place_surplus(const server_load& own, const std::vector<server_load>& others);

/// Adds a sandbox to the load of a server that was given one, until that tells its load anew.
void note_placed(server_load& at);

/// Servers on a ring (consistent hashing): a principal's home stays where it is when other servers come and go.
class home_ring {
public:
    explicit home_ring(const std::vector<std::string>& names);

    /// The first server from the principal's place on that `takes` accepts; where none does, the very first.
    const std::string& home_of(std::string_view principal,
                               const std::function<bool(const std::string& name)>& takes) const;

private:
    std::vector<std::string> names_;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> points_;  // sorted; of which name
};

/// Homes that a server may have where `all` are at `servers` that take some: a quarter above the mean.
std::uint64_t most_homes(std::uint64_t all, std::size_t servers);

}  // namespace cmcp
