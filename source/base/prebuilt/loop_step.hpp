// Included by Asio itself: BOOST_ASIO_CUSTOM_HANDLER_TRACKING names this file. The macros at its end are those that
// Asio asks for (Boost.Asio overview, "Custom Handler Tracking"); all but one do nothing.
#pragma once

#include <chrono>

namespace cmcp {

/// The steps of one thread's io_context, and where they are counted.
struct loop_steps {
    using clock = std::chrono::steady_clock;

    void (*ended)(clock::duration) noexcept = nullptr;  ///< called after each step; null: nobody watches this thread
    unsigned depth = 0;                                 ///< handlers that Asio calls from within a handler
    clock::time_point began{};                          ///< of the present step, where depth is not 0
    const char* what = nullptr;                         ///< what the present step does, where code has named it

    /// Names the present step, by a text that lives as long as the process.
    static void name(const char* what) noexcept;

    static loop_steps& of_thread() noexcept;
};

inline constinit thread_local loop_steps steps_of_thread{};

inline loop_steps& loop_steps::of_thread() noexcept { return steps_of_thread; }

inline void loop_steps::name(const char* what) noexcept { steps_of_thread.what = what; }

/// A handler, with all that it calls. While it runs, nothing else of the io_context does. Asio marks each one's
/// beginning and end, also on threads that nobody watches; there a mark costs one comparison.
class loop_step {
public:
    loop_step() noexcept
    {
        auto& steps = steps_of_thread;
        if (steps.ended == nullptr || steps.depth++ != 0) return;
        steps.what = nullptr;
        steps.began = loop_steps::clock::now();
    }
    ~loop_step()
    {
        auto& steps = steps_of_thread;
        if (steps.depth != 0 && --steps.depth == 0) steps.ended(loop_steps::clock::now() - steps.began);
    }
    loop_step(const loop_step&) = delete;
    loop_step& operator=(const loop_step&) = delete;
};

}  // namespace cmcp

// clang-format off
#define BOOST_ASIO_INHERIT_TRACKED_HANDLER
#define BOOST_ASIO_ALSO_INHERIT_TRACKED_HANDLER
#define BOOST_ASIO_HANDLER_TRACKING_INIT (void)0
#define BOOST_ASIO_HANDLER_LOCATION(args) (void)0
#define BOOST_ASIO_HANDLER_CREATION(args) (void)0
#define BOOST_ASIO_HANDLER_COMPLETION(args) (void)0
#define BOOST_ASIO_HANDLER_INVOCATION_BEGIN(args) const ::cmcp::loop_step the_step_of_this_handler
#define BOOST_ASIO_HANDLER_INVOCATION_END (void)0
#define BOOST_ASIO_HANDLER_OPERATION(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_REGISTRATION(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_DEREGISTRATION(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_READ_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_WRITE_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_ERROR_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_EVENTS(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_OPERATION(args) (void)0
// clang-format on
