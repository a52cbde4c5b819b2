#pragma once

#include "sandbox/backend.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace cmcp {

class kernel_listener;

/// Output of threads, tasks and children while none of a kernel's calls runs, and displays of cells that have ended.
/// It goes to the client of the notebook whose cell was the latest; otherwise the last 64 KiB of text wait for the next
/// call. Io thread only.
class late_output {
public:
    using receiver = std::shared_ptr<kernel_listener>;

    void listen(receiver to) { to_ = std::move(to); }  ///< null: the output waits

    awaitable<> receive(sandbox::stream from, std::string bytes);
    /// As kernel_listener's. `plain`: what waits of it where there is no receiver.
    awaitable<> show(std::string kind, std::string content, std::string plain);

    /// The output that waits, behind a line that says how many bytes before it were dropped; empty where there is none.
    std::string take();

    void put_back(std::string text) { kept_ = std::move(text) + kept_; }

private:
    void keep(const std::string& bytes);

    receiver to_;
    std::string kept_;
    std::uint64_t dropped_ = 0;
};

}  // namespace cmcp
