#pragma once

#include "async/asio.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <utility>

namespace cmcp {

/// Ends the coroutine (or what else) that is bound to its slot, and remembers that it was asked to. Io thread only.
class canceller {
public:
    canceller() = default;
    canceller(const canceller&) = delete;
    canceller& operator=(const canceller&) = delete;
    virtual ~canceller() = default;

    virtual void cancel()
    {
        cancelled_ = true;
        signal_.emit(asio::cancellation_type::terminal);
    }

    bool cancelled() const { return cancelled_; }
    asio::cancellation_slot slot() { return signal_.slot(); }

private:
    asio::cancellation_signal signal_;
    bool cancelled_ = false;
};

/// Cancels at the end of its own life, if the other still lives: for work that ends with a connection.
class canceller_at_end {
public:
    canceller_at_end() = default;
    explicit canceller_at_end(std::weak_ptr<canceller> target) : target_(std::move(target)) {}
    canceller_at_end(canceller_at_end&&) = default;
    canceller_at_end& operator=(canceller_at_end&&) = delete;
    ~canceller_at_end()
    {
        if (const auto target = target_.lock()) target->cancel();
    }

private:
    std::weak_ptr<canceller> target_;
};

}  // namespace cmcp
