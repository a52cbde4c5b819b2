#include "cluster/placement.hpp"
#include "test/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <map>

using namespace cmcp;

namespace {

constexpr std::size_t servers = 10'000;
constexpr std::size_t callers = 200'000;
constexpr std::size_t sandboxes = 1'000'000;
constexpr std::uint64_t told_every = 50'000;  // new sandboxes between two beats of all servers

/// Callers of whom few have most: the one at place k has a part of 1 / k^0.9.
class heavy_callers {
public:
    heavy_callers()
    {
        double sum = 0;
        for (std::size_t i = 0; i != callers; ++i) sums_.push_back(sum += std::pow(i + 1.0, -0.9));
    }
    std::size_t any(std::minstd_rand& chance) const
    {
        std::uniform_real_distribution<double> part(0, sums_.back());
        return static_cast<std::size_t>(std::ranges::lower_bound(sums_, part(chance)) - sums_.begin()) % callers;
    }

private:
    std::vector<double> sums_;
};

server_load with_memory(std::uint64_t gibibytes)
{
    server_load load;
    load.memory = load.memory_free = gibibytes << 30;
    load.most_runs = 64;
    return load;
}

// Memory that a sandbox takes, so that the mean of 100 is half of a server of 20 GiB.
constexpr std::uint64_t of_sandbox = 100 << 20;

void add_sandbox(server_load& at)
{
    ++at.sandboxes;
    at.memory_free -= std::min(at.memory_free, of_sandbox);
}

/// Fills the servers; `entrance` says which one a caller's request reaches.
template <class Entrance>
std::vector<server_load> filled(std::vector<server_load> real, Entrance entrance)
{
    std::minstd_rand chance(7);
    const heavy_callers all;
    auto as_seen = real;
    for (std::uint64_t i = 0; i != sandboxes; ++i) {
        if (i % told_every == 0) as_seen = real;
        const auto at = entrance(all.any(chance), chance);
        const auto target = place_sandbox(real[at], as_seen, chance);
        if (target && *target != at) note_placed(as_seen[*target]);
        add_sandbox(real[target.value_or(at)]);
    }
    return real;
}

double fullest(const std::vector<server_load>& all)
{
    double most = 0;
    for (const auto& each : all) most = std::max(most, pressure_of(each));
    return most;
}

std::string name_of(std::size_t server) { return "n" + std::to_string(server); }

}  // namespace

TEST_CASE("10,000 servers behind a balancer that gives requests to any of them fill evenly")
{
    const auto all = filled(std::vector<server_load>(servers, with_memory(20)),
                            [](std::size_t, std::minstd_rand& chance) { return chance() % servers; });
    const auto most = std::ranges::max(all, {}, &server_load::sandboxes).sandboxes;
    INFO("most sandboxes of a server: " << most);
    CHECK(most <= 130);  // the mean is 100
    CHECK(fullest(all) < 0.75);
}

TEST_CASE("a balancer that gives each caller one server makes none of them full")
{
    const auto all = filled(std::vector<server_load>(servers, with_memory(20)),
                            [](std::size_t caller, std::minstd_rand&) { return caller * 7919 % servers; });
    const auto most = std::ranges::max(all, {}, &server_load::sandboxes).sandboxes;
    INFO("most sandboxes of a server: " << most);
    CHECK(most <= 160);
    CHECK(fullest(all) < 0.85);
}

TEST_CASE("servers of different size fill by what they have room for")
{
    std::vector<server_load> mixed;
    for (std::size_t i = 0; i != servers; ++i) mixed.push_back(with_memory(i % 2 == 0 ? 10 : 30));
    const auto all = filled(std::move(mixed), [](std::size_t, std::minstd_rand& chance) { return chance() % servers; });
    CHECK(fullest(all) < 0.85);
    for (const auto& each : all) REQUIRE(each.memory_free > of_sandbox);
}

TEST_CASE("a server that drains gets nothing, and keeps nothing for itself")
{
    std::minstd_rand chance(1);
    auto own = with_memory(1);
    std::vector<server_load> others(3, with_memory(1));
    others[0].drains = others[2].drains = true;
    own.drains = true;
    int placed = 0;
    for (int i = 0; i != 100; ++i)
        if (const auto target = place_sandbox(own, others, chance)) {
            CHECK(*target == 1);
            ++placed;
        }
    CHECK(placed > 50);  // by chance both of the two drain, and then the caller's server has to
    CHECK_FALSE(place_sandbox(own, {}, chance));
}

TEST_CASE("of all that fit the one with the least pressure is chosen, wherever it stands")
{
    std::vector<server_load> others(50, with_memory(10));
    for (auto& each : others) each.memory_free /= 2;
    others[33].memory_free = others[33].memory;
    auto own = with_memory(10);
    own.memory_free /= 2;
    CHECK(place_by_pressure(own, others) == 33);
    others[33].drains = true;
    CHECK_FALSE(place_by_pressure(own, others));  // about as full as this server
    own.drains = true;
    others[7].memory_free += 1 << 20;
    CHECK(place_by_pressure(own, others) == 7);
    for (auto& each : others) each.drains = true;
    CHECK_FALSE(place_by_pressure(own, others));
}

TEST_CASE("what a server has above the mean goes to those with the fewest, until all are even")
{
    std::vector<server_load> all(4, with_memory(10));
    all[0].sandboxes = 90;
    all[1].sandboxes = 10;
    all[2].sandboxes = 5;
    all[3].drains = true;
    const auto give = [&] {
        const auto to = place_surplus(all[0], {all.begin() + 1, all.end()});
        if (to) --all[0].sandboxes, ++all[1 + *to].sandboxes;
        return to.has_value();
    };
    int moves = 0;
    while (give()) ++moves;
    CHECK(moves == 55);
    CHECK(all[0].sandboxes == 35);
    CHECK(all[1].sandboxes == 35);
    CHECK(all[3].sandboxes == 0);
    CHECK_FALSE(place_surplus(all[0], {}));
    all[1].sandboxes = 34;
    CHECK_FALSE(place_surplus(all[0], {all[1]}));  // to and fro would not end
}

TEST_CASE("a server passes nothing on to one that is about as full")
{
    std::minstd_rand chance(1);
    auto own = with_memory(10);
    own.runs = 6;  // of 64
    const std::vector<server_load> idle(5, with_memory(10));
    CHECK_FALSE(place_sandbox(own, idle, chance));
    own.runs_waiting = 8;
    CHECK(place_sandbox(own, idle, chance));
}

TEST_CASE("memory, disk and waiting runs each make a server full")
{
    auto load = with_memory(8);
    CHECK(pressure_of(load) == 0);
    load.runs = 64;
    CHECK(pressure_of(load) == 0.5);
    load.runs_waiting = 64;
    CHECK(pressure_of(load) == 1.5);
    load = with_memory(8);
    load.memory_free /= 4;
    CHECK(pressure_of(load) == 0.75);
    load.disk = 1000;
    load.disk_free = 100;
    CHECK(pressure_of(load) == Approx(0.9));
    CHECK(pressure_of({}) == 0);
}

TEST_CASE("homes of 200,000 callers at 10,000 servers: none has many more than the mean, and few are away")
{
    std::vector<std::string> names;
    for (std::size_t i = 0; i != servers; ++i) names.push_back(name_of(i));
    const home_ring ring(names);
    std::map<std::string, std::uint64_t> homes;
    std::size_t away = 0;
    for (std::uint64_t i = 0; i != callers; ++i) {
        const auto most = most_homes(i, servers);
        const auto& name =
            ring.home_of("caller " + std::to_string(i), [&](const std::string& each) { return homes[each] < most; });
        const auto& first = ring.home_of("caller " + std::to_string(i), [](const std::string&) { return true; });
        if (name != first) ++away;
        ++homes[name];
    }
    std::uint64_t most = 0;
    for (const auto& [name, count] : homes) most = std::max(most, count);
    INFO("most homes of a server: " << most << ", away from the first place: " << away);
    CHECK(most <= 26);  // the mean is 20
    CHECK(away < callers / 4);
}

TEST_CASE("a server that comes or goes moves the homes that it gets or had, and no others")
{
    const home_ring four({"n1", "n2", "n3", "n4"}), three({"n1", "n2", "n4"});
    const auto any = [](const std::string&) { return true; };
    std::map<std::string, int> counts;
    for (int i = 0; i != 4000; ++i) {
        const auto principal = "caller " + std::to_string(i);
        const auto& before = four.home_of(principal, any);
        ++counts[before];
        const auto& after = three.home_of(principal, any);
        if (before != "n3") CHECK(after == before);
        CHECK(after != "n3");
        CHECK(four.home_of(principal, [](const std::string& name) { return name != "n3"; }) == after);
    }
    for (const auto& [name, count] : counts) CHECK((count > 600 && count < 1500));
}
