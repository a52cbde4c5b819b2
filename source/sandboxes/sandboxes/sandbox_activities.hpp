#pragma once

#include "async/event.hpp"
#include "runs/sandbox_error.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cmcp {

/// The activities in the sandboxes of this process. A sandbox that is deleted ends its activities first; a sandbox with
/// activities is not idle. Io thread only.
class sandbox_activities {
    struct state;

public:
    /// An activity, from begin() to its destruction.
    class entry {
    public:
        entry(std::shared_ptr<state> of, std::string id);
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;
        ~entry();

        /// `why` is thrown to the caller that waits for the work; nothing: the caller cancelled it.
        void cancel(std::optional<sandbox_error> why);
        void check() const  ///< throws the reason of cancel(), where there was one
        {
            if (why_) throw sandbox_error(*why_);
        }
        asio::cancellation_slot slot() { return signal_.slot(); }

    private:
        std::shared_ptr<state> of_;
        std::string id_;
        asio::cancellation_signal signal_;
        std::optional<sandbox_error> why_;
    };

    sandbox_activities();

    /// Throws sandbox_error when the sandbox is being deleted or stopped.
    std::shared_ptr<entry> begin(const std::string& id);

    /// Refuses new activities and cancels the others, which throw `why`. forget() must follow.
    void cancel_all(const std::string& id, const sandbox_error& why);
    awaitable<> end_all(std::string id);  ///< cancel_all() for a sandbox that goes, and waits for their end
    void forget(const std::string& id);   ///< the sandbox is gone (or may be used again)

    bool busy(const std::string& id) const;
    bool closing(const std::string& id) const;  ///< it takes no new ones
    bool shared(const std::string& id) const;   ///< several go on
    std::vector<std::string> busy_ids() const;
    awaitable<> quiet(std::string id) const;  ///< until the sandbox has no activities

    /// Runs `work` so that the end of the sandbox and the cancellation of the awaiting coroutine both end it. The
    /// former is thrown as the entry's sandbox_error.
    template <class T>
    static awaitable<T> run(std::shared_ptr<entry> as, awaitable<T> work);

private:
    std::shared_ptr<state> state_;
};

/// Lets a sandbox have activities again, at the end of its life.
struct activities_reopened {
    sandbox_activities all;  ///< shares its state
    std::string id;
    ~activities_reopened() { all.forget(id); }
};

sandbox_error ended_with_sandbox();

template <class T>
awaitable<T> sandbox_activities::run(std::shared_ptr<entry> as, awaitable<T> work)
{
    auto executor = co_await asio::this_coro::executor;
    auto own = co_await asio::this_coro::cancellation_state;
    // The work is bound to the entry's signal, so the slot of this coroutine is free to pass cancellation on.
    if (own.slot().is_connected()) own.slot().assign([as](asio::cancellation_type) { as->cancel(std::nullopt); });
    auto token = asio::bind_cancellation_slot(as->slot(), asio::use_awaitable);
    try {
        T value = co_await asio::co_spawn(executor, std::move(work), token);
        co_return value;
    } catch (const boost::system::system_error& failure) {
        if (failure.code() == asio::error::operation_aborted) as->check();
        throw;
    }
}

}  // namespace cmcp
