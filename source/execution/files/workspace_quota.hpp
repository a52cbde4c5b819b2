#pragma once

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "config/principal_limits.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

/// Keeps the writes of the file tools within the size of a workspace, together with what runs write there, which the
/// launcher counts. Io thread only.
class workspace_quota {
    struct usage;

public:
    /// The right to write into a workspace: a workspace has one at a time.
    class turn {
    public:
        turn() = default;
        turn(turn&& other) noexcept = default;
        turn& operator=(turn&& other) noexcept = default;
        ~turn();

    private:
        friend class workspace_quota;
        turn(std::string principal, std::string workspace, std::shared_ptr<usage> of);

        std::string principal_;
        std::string workspace_;
        std::shared_ptr<usage> of_;
    };

    /// `most` bytes of a principal's workspace; 0: no limit. The pool must outlive this.
    workspace_quota(blocking_pool& pool, limit_of_principal most) : pool_(pool), most_(std::move(most)) {}

    /// Waits for the workspace's other writes.
    awaitable<turn> begin(std::string principal, std::filesystem::path workspace);

    /// Throws file_error where `bytes` more are more than the limit. Measures the workspace, where a measurement is two
    /// seconds old, or more than a sixteenth of the limit was written since. `turn` must outlive the call.
    awaitable<> check(const turn& of, std::uint64_t bytes);

    /// The bytes count until the next measurement.
    void written(const turn& of, std::uint64_t bytes);

    bool limits(std::string_view principal) const { return most_(principal) != 0; }

private:
    using clock = std::chrono::steady_clock;

    static clock::time_point out_of_date();
    void forget_idle();
    awaitable<> measure(const turn& of);

    blocking_pool& pool_;
    limit_of_principal most_;
    std::map<std::string, std::shared_ptr<usage>> usages_;  // of those that were written to
};

}  // namespace cmcp
