#pragma once

#include "async/blocking_pool.hpp"
#include "files/disk_reservations.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace cmcp {

/// Keeps the writes of the file tools within the size of a workspace, beside what runs write there, which the launcher
/// counts. Io thread only.
class workspace_quota {
public:
    /// `most` bytes of one workspace; 0: no limit. The pool must outlive this.
    workspace_quota(blocking_pool& pool, std::uint64_t most) : pool_(pool), most_(most) {}

    /// Bytes for a write that begins. Throws file_error where the workspace and all writes that are under way would
    /// take more than the limit. The workspace is measured where that is not known.
    awaitable<disk_reservations::share> reserve(std::string principal, std::filesystem::path workspace,
                                                std::uint64_t bytes);

    /// The write has ended: its bytes count until the next measurement.
    void written(disk_reservations::share disk);

    bool limited() const { return most_ != 0; }

private:
    using clock = std::chrono::steady_clock;

    struct usage {
        std::uint64_t measured = 0;
        std::uint64_t written = 0;  // since then
        clock::time_point at{};     // when the measurement began
    };

    awaitable<> measure(std::string principal, std::string workspace);
    std::uint64_t sum(const std::string& workspace);

    blocking_pool& pool_;
    std::uint64_t most_;
    disk_reservations reservations_;       // by workspace
    std::map<std::string, usage> usages_;  // of those that were written to
};

}  // namespace cmcp
