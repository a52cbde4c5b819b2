#pragma once

#include "async/asio.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

namespace cmcp {

/// SIGTERM and SIGINT: the first one asks the loop to stop in good order. The second one ends the process at once (the
/// launcher and every run die with it), and so does a stop that exceeds its limits. A thread of its own receives the
/// signals, so that all this is true while a handler holds the loop, or a thread of a pool never ends. At most one
/// object at a time; the members are called on the io thread.
class stop_signals {
public:
    /// From the first signal on.
    struct limits {
        std::chrono::milliseconds held;   ///< then a loop that does not answer is given up
        std::chrono::milliseconds whole;  ///< then the process ends in any case
    };

    /// Without limits a stop takes as long as it takes. Throws std::system_error.
    explicit stop_signals(std::optional<limits> within = std::nullopt);
    stop_signals(const stop_signals&) = delete;
    stop_signals& operator=(const stop_signals&) = delete;
    ~stop_signals();

    /// The loop that is asked, while the object lives; it ends before its io_context.
    class loop {
    public:
        loop(stop_signals& signals, asio::any_io_executor executor);
        loop(const loop&) = delete;
        loop& operator=(const loop&) = delete;
        ~loop();

    private:
        stop_signals& signals_;
    };

    /// Calls `action` on the loop at the first signal; at once when it has come already. Empty: nothing is called.
    void on_first(std::function<void()> action);

    /// Names, for the log, what the stop waits for from now on; the text must live as long as the program.
    void waits_for(const char* what) noexcept { waits_for_ = what; }

private:
    struct shared;
    class pipe_ends;

    void receive();
    void first(int number);
    bool loop_answers();
    [[noreturn]] void give_up(int number, bool held);

    std::optional<limits> within_;
    std::shared_ptr<shared> shared_;
    std::unique_ptr<pipe_ends> pipe_;
    std::atomic<const char*> waits_for_{"the loop"};
    std::thread thread_;
};

}  // namespace cmcp
