#pragma once

#include "async/asio.hpp"

#include <boost/asio/cancellation_signal.hpp>

namespace cmcp {

/// Ends the coroutine (or what else) that is bound to its slot, and remembers that it was asked to. Io thread only.
class canceller {
public:
    void cancel()
    {
        cancelled_ = true;
        signal_.emit(asio::cancellation_type::terminal);
    }

    bool cancelled() const { return cancelled_; }
    asio::cancellation_slot slot() { return signal_.slot(); }

    /// In place of a coroutine: `action` is called at each cancellation.
    template <class Function>
    void on_cancel(Function action)
    {
        signal_.slot().assign([action](asio::cancellation_type) { action(); });
    }

private:
    asio::cancellation_signal signal_;
    bool cancelled_ = false;
};

}  // namespace cmcp
