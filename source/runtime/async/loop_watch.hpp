#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include <time.h>

namespace cmcp {

/// A step of the loop.
struct step_figures {
    std::chrono::nanoseconds took{};  ///< from its beginning to its end
    std::chrono::nanoseconds used{};  ///< of it, processor time of the thread; up to a millisecond too much
    std::string what;                 ///< as code named it last; empty: no code did
    /// Where it was when it had been too long: offsets into the program, innermost first, for `addr2line -Cfpie`.
    /// Empty: it did not compute then.
    std::string at;
};

/// Measures each step of the io_context that the present thread runs (prebuilt/loop_step.hpp), until it is destroyed on
/// the same thread. A step that computes for longer than the limit is interrupted by a signal of the thread's own
/// processor time (timer_create(2)), which notes where it is. A thread that sleeps is never woken. One for each thread.
class loop_watch {
public:
    using clock = std::chrono::steady_clock;

    static constexpr std::chrono::milliseconds limit{5};

    /// `seen`: called for each step above the limit at its end, on this thread. Must not throw.
    explicit loop_watch(std::function<void(const step_figures&)> seen);
    loop_watch(const loop_watch&) = delete;
    loop_watch& operator=(const loop_watch&) = delete;
    ~loop_watch();

    const step_figures& longest() const { return longest_; }  ///< of all so far, by the processor time that it used
    std::size_t slow_steps() const { return slow_steps_; }    ///< how many were above the limit

private:
    static void ended(clock::duration took) noexcept;
    void note(clock::duration took);
    void start_timer();

    std::function<void(const step_figures&)> seen_;
    step_figures longest_;
    std::size_t slow_steps_ = 0;
    clock::time_point looked_{};       // when the processor time of the thread was read
    std::chrono::nanoseconds used_{};  // what it was then
    std::optional<timer_t> timer_;     // none: the kernel gives none, and nobody notes where a step is
};
}  // namespace cmcp
