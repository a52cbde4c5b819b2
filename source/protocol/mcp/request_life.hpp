#pragma once

namespace cmcp {

/// Where a request is between its arrival and its end: a state machine without I/O. The request does what on() returns.
class request_life {
public:
    enum class state {
        received,
        admitted,   ///< it counts towards the limits and can be cancelled
        running,    ///< its method runs
        answering,  ///< the answer is on its way
        ended,
        cancelled  ///< nobody waits for the answer; its method may still run
    };
    enum class input {
        admit,
        settle,  ///< its outcome is known without its method: it is refused, or done at once
        begin,
        finish,  ///< the method has ended
        cancel,
        sent
    };
    enum class action {
        none,
        run,     ///< the method
        stop,    ///< what runs, by cancellation
        answer,  ///< send the result or the error
        drop     ///< let go of it without an answer
    };

    action on(input what);
    state now() const { return state_; }

private:
    state state_ = state::received;
};

}  // namespace cmcp
