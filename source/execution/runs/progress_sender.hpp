#pragma once

#include "async/event.hpp"
#include "mcp/request_io.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace cmcp {

/// Tells a caller how its call goes on: output as progress, steps as log messages. The first piece goes at once, the
/// rest together at most every `interval`. A progress without message goes out when there was none for `heartbeat`.
class progress_sender {
public:
    struct pace {
        std::chrono::milliseconds interval{50};
        std::chrono::milliseconds heartbeat{10'000};
        std::size_t unsent = 1 << 20;  ///< bytes that may wait before the producer must
    };

    explicit progress_sender(request_io& io) : progress_sender(io, pace()) {}
    progress_sender(request_io& io, pace limits);

    /// Valid UTF-8. Waits while much is unsent.
    awaitable<> add(output_stream from, std::string text);

    /// Never waits. A step that says how much was received replaces the one before it.
    void step(std::string text);

    void finish();  ///< nothing more comes: run() sends the rest and returns

    /// Sends until finish() was called and all is sent; runs beside the producer.
    awaitable<> run();

private:
    using clock = std::chrono::steady_clock;

    bool anything_unsent() const { return !unsent_.empty() || !steps_.empty(); }
    void keep(output_stream from, std::string text);
    clock::time_point next_time() const;
    awaitable<> send();
    awaitable<> send_steps();
    awaitable<> send_output();

    request_io& io_;
    pace pace_;
    event wake_;                       // there is something to do
    event drained_;                    // unsent text was taken
    std::vector<output_text> unsent_;  // in the order of arrival
    std::size_t unsent_bytes_ = 0;
    std::array<std::uint64_t, 2> offsets_{};
    std::vector<std::string> steps_;
    bool finished_ = false;
    clock::time_point began_;
    clock::time_point last_sent_;
    clock::time_point last_progress_;
    bool sent_any_ = false;
};

template <class T>
awaitable<T> finish_after(awaitable<T> work, progress_sender& progress)
{
    T value = co_await std::move(work);
    progress.finish();
    co_return value;
}

/// Runs `work` and the sender beside it. A failure of either ends the other; both have ended when this returns.
template <class T>
awaitable<T> with_progress(progress_sender& progress, awaitable<T> work)
{
    auto executor = co_await asio::this_coro::executor;
    auto finishing = finish_after(std::move(work), progress);
    auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, std::move(finishing), asio::deferred),
                                                         asio::co_spawn(executor, progress.run(), asio::deferred));
    auto [order, failure, value, sending_failure] =
        co_await group.async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
    if (order[0] == 1 && sending_failure) std::rethrow_exception(sending_failure);
    if (failure) std::rethrow_exception(failure);
    if (sending_failure) std::rethrow_exception(sending_failure);
    co_return std::move(value);
}

}  // namespace cmcp
