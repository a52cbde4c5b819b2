#pragma once

#include "launcher/run.hpp"
#include "wire/launcher_protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

class launcher;

/// When a pool is refilled. Best is a time without a run that goes on, because the kernel's locks are shared by all
/// processors. Without any standby run a free processor is enough, and the pause is never long.
class refill_pause {
public:
    void run_began();
    void at_once() { at_ = std::chrono::steady_clock::now(); }
    void soon();
    steady_time next() const { return at_; }

    /// True once for each time that the refill becomes due. `running`: the runs that go on; `none_left`: no standby run
    /// is there for the next start.
    bool over(steady_time now, std::size_t running, bool none_left);

private:
    steady_time at_ = steady_time::max();
    steady_time latest_{};
};

/// Runs that stand by: confined before anyone asks for them, with nothing left to do but to begin. Each belongs to one
/// shape of run (workspace, view, limits), and so to one caller, from its beginning on. Some stand by for the shape
/// that came last. A derived class knows how such a run gets its program.
class standby_pool {
public:
    /// `each`: how many stand by for one shape. `starts_wait`: a start without a standby run waits for one that is
    /// being made, because that takes less time than a cold start.
    standby_pool(launcher& keeper, std::size_t each, bool starts_wait)
        : keeper_(keeper), each_(each), starts_wait_(starts_wait)
    {
    }
    standby_pool(const standby_pool&) = delete;
    standby_pool& operator=(const standby_pool&) = delete;
    virtual ~standby_pool() = default;

    /// Takes the run over (true), or leaves it as it is for a cold start.
    bool take(start_message& start, std::vector<unique_fd>& descriptors);
    bool cancel(std::uint64_t id);  ///< true: the start waited here, and does not any more

    void heard_of(std::uint64_t key);                      ///< a run that has not begun has said something
    void lost(std::uint64_t key, const std::string& why);  ///< a run ended before it began
    virtual void hear_zygote(std::uint64_t) {}             ///< the zygote of this key has said something

    /// Whether a clone of the pool's interpreter can be what the request starts.
    virtual bool stands_in_for(const run_request&) const { return false; }
    /// Orders a clone as the first process of a lasting cell. False: none will come.
    virtual bool order_for(std::uint64_t, const cell&) { return false; }

    steady_time next_event() const;
    virtual void look(steady_time now, std::size_t running);  ///< `running`: the runs that go on

protected:
    /// The shape of a standby run that could serve this start; nothing: the pool has none of that kind.
    virtual std::optional<run_request> shape_for(const start_message& start) = 0;
    virtual bool can_make() const { return true; }
    /// Lets the process of a new run come about. False: it will not. Throws as run does.
    virtual bool launch(std::uint64_t key, run& standby) = 0;
    virtual void note_loss(bool was_ready, const std::string& why) = 0;
    virtual void refill();

    bool forget(std::uint64_t key);                    ///< false: the pool does not have it
    void start_queued_cold(const std::string& shape);  ///< empty: all

    launcher& keeper_;
    refill_pause refill_;
    int losses_ = 0;  ///< one after the other, without a run between

private:
    struct standby_run {
        std::uint64_t key;
        std::string shape;
        bool ready;
    };
    struct queued_start {
        std::string shape;
        start_message start;
        std::vector<unique_fd> descriptors;
        steady_time since;
    };

    std::vector<standby_run>::iterator at(std::uint64_t key);
    bool make(const std::string& shape, const run_request& request, bool probe);
    bool hand_over(const std::string& shape, const start_message& start, const std::vector<unique_fd>& descriptors);
    bool begin(std::uint64_t key, const start_message& start, const std::vector<unique_fd>& descriptors);
    std::size_t count(const std::string& shape) const;
    std::size_t queued_for(const std::string& shape) const;
    void trim();

    std::size_t each_;
    bool starts_wait_;
    std::vector<standby_run> runs_;  ///< that have not begun, the oldest first
    std::deque<queued_start> queue_;
    std::string wanted_shape_;  ///< of the run that came last
    run_request wanted_;
};

/// The part of a request that is settled before its run begins; the rest is handed over at the begin.
run_request shape_of(run_request request);

}  // namespace cmcp::sandbox
