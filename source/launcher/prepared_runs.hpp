#pragma once

#include "launcher/refill_pause.hpp"
#include "launcher/waiting_runs.hpp"
#include "launcher/zygote.hpp"
#include "wire/python_start.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// Runs by way of a zygote: keeps it, keeps children of it waiting for the kind of run that came last, and hands runs
/// to them. Whatever goes wrong before a run's code has begun makes it a cold run.
class prepared_runs {
public:
    static constexpr std::uint64_t first_key = 1ull << 60;  ///< of runs that have no id yet
    static constexpr std::uint64_t first_tag = 1ull << 63;  ///< of zygotes, for epoll
    static constexpr std::uint64_t each_lane = 1ull << 48;

    /// `lane`: tells the keys and tags of several such objects apart. The server is told of the state of lane 0.
    prepared_runs(run_keeper& keeper, zygote_options options, std::uint64_t lane);
    static std::uint64_t lane_of_tag(std::uint64_t tag) { return (tag - first_tag) / each_lane; }

    /// Takes the run over (true), or leaves it as it is for a cold start.
    bool take(start_message& start, std::vector<unique_fd>& descriptors);
    bool cancel(std::uint64_t id);  ///< true: it had not begun, and will not

    void handle(std::uint64_t tag);                        ///< a zygote has something to say
    void heard_of(std::uint64_t key);                      ///< a child has said something
    void lost(std::uint64_t key, const std::string& why);  ///< a child ended before it began

    steady_time next_event() const;
    void look(steady_time now, std::size_t running);  ///< `running`: the runs that go on

private:
    struct queued {
        std::string shape;
        start_message start;
        std::vector<unique_fd> descriptors;
        steady_time since;
    };
    bool stands_in_for(const run_request& request) const;
    std::unique_ptr<zygote> start_zygote();
    void take_over();
    void hear(zygote::news said, bool from_active);
    void attach(cloned made);
    bool order(const std::string& shape, const run_request& request, bool probe);
    bool began();  ///< a run did: always true
    void refill();
    void start_queued_cold(const std::string& shape);
    void turn_off(const std::string& why);
    void tell_state();
    std::size_t queued_for(const std::string& shape) const;

    run_keeper& keeper_;
    zygote_options options_;
    std::optional<python_start> loaded_;  ///< how the zygotes are started
    std::uint64_t lane_;
    std::unique_ptr<zygote> active_, next_;
    std::uint64_t active_number_ = 0, last_number_ = 0;
    bool active_ready_ = false, next_ready_ = false;
    std::string about_, about_next_, obstacle_;
    std::uint32_t clones_ = 0;           ///< made by the active one
    int failures_ = 0;                   ///< one after the other, without a run between
    std::deque<std::uint64_t> ordered_;  ///< clones on their way, in order
    waiting_runs children_;              ///< that have not begun
    std::deque<queued> queue_;
    std::string wanted_shape_;  ///< of the run that came last
    run_request wanted_;
    std::uint64_t last_key_;
    refill_pause refill_;
};

}  // namespace cmcp::sandbox
