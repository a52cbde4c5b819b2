#pragma once

#include "async/asio.hpp"
#include "async/canceller.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace cmcp {

/// Owns child coroutines. Each child runs until it returns or until it is cancelled; an exception that
/// leaves a child is logged under the child's name and goes no further (cancellation is not logged).
/// All members must be called on the io thread.
class task_group {
public:
    explicit task_group(asio::any_io_executor executor);
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    ~task_group();  ///< cancels the children that still run; their frames keep alive what they use

    /// `ends`: a canceller that others use as well; the group cancels the child by it.
    void spawn(std::string name, awaitable<> child, std::shared_ptr<canceller> ends = nullptr);

    void cancel_all();         ///< emits terminal cancellation to every child
    std::size_t size() const;  ///< children that still run

    /// Waits until no child runs, at most `limit`; returns true when none is left.
    awaitable<bool> wait_idle(std::chrono::milliseconds limit);

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace cmcp
