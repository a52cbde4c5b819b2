#pragma once

#include "async/asio.hpp"
#include "config/principal_limits.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

struct execution_settings;

/// The name under which a run waits: its principal, or the session of the default caller.
std::string admission_key(const caller& who);

inline constexpr const char* busy_sentence =
    "The server is busy: too many runs wait for their turn. Try again in a few seconds.";

/// Runs of all callers that go on at once: SANDBOX_MAX_RUNS, or what processors and memory allow.
std::size_t runs_at_once(const execution_settings& config);

/// As many of them as may use all that a run is allowed in one lasting cell, where they are of one caller.
std::size_t runs_of_a_cell(const execution_settings& config);

struct admission_limits {
    std::size_t at_once = 8;            ///< runs of all callers together
    std::size_t per_caller = 7;         ///< fewer than at_once, so that no caller can take every slot
    limit_of_principal of_principal{};  ///< instead of per_caller, where it says more than 0
    std::size_t waiting = 256;          ///< of all callers together; one caller may fill half
    std::string what = "run";           ///< the word for a thing that is admitted
    bool reports_positions = false;     ///< request_io::queued gets each position in the queue, and 0 when a run begins
};

/// Lets runs start: a bounded number at once, the others wait; callers take turns. All calls on the io thread.
class run_admission {
    struct state;
    struct ticket;
    struct close {
        void operator()(ticket* one) const;
    };

public:
    /// The right to run; its end lets the next one start.
    using slot = std::unique_ptr<ticket, close>;

    explicit run_admission(admission_limits limits);
    ~run_admission();

    /// Waits for a slot; null when too many wait already, within a second where many are refused. Cancellation gives
    /// the turn to the next. A caller that has to wait gets a log message, where `io` is not null.
    awaitable<slot> enter(std::string caller, request_io* io = nullptr);

    /// A slot that is free now; null: there is none for this caller.
    slot enter_now(std::string caller);

    /// Whether enter() refuses because this caller's own share of the queue is full.
    bool share_used_up(const std::string& caller) const;

    /// The slots of a principal, or of a session of the default caller, whose name is empty.
    struct share {
        std::string principal;
        std::size_t running;
        std::size_t waiting;
    };
    std::vector<share> shares() const;

    std::size_t most() const;  ///< runs at once
    std::size_t running() const;
    std::size_t waiting() const;

private:
    std::shared_ptr<state> state_;
};

}  // namespace cmcp
