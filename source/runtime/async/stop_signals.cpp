#include "async/stop_signals.hpp"

#include "log/log.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <utility>

namespace cmcp {

namespace {

using stop_clock = std::chrono::steady_clock;

constexpr std::array stopping_signals{SIGTERM, SIGINT};
constexpr auto time_to_answer = std::chrono::seconds(5);  // of a loop that is not held, on a busy machine
constexpr auto time_to_log = std::chrono::seconds(1);

std::atomic<int> where_signals_go{-1};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void pass_stop_signal(int number)
{
    const int before = errno;
    const auto byte = static_cast<unsigned char>(number);
    [[maybe_unused]] const auto written = ::write(where_signals_go.load(), &byte, 1);
    errno = before;
}

// The log itself may be what holds the loop: a pipe that nobody reads.
void log_in_time(const std::function<void()>& write)
{
    struct state {
        std::mutex mutex;
        std::condition_variable written;
        bool is_written = false;
    };
    const auto of = std::make_shared<state>();
    try {
        std::thread([of, write] {
            write();
            const std::lock_guard only(of->mutex);
            of->is_written = true;
            of->written.notify_one();
        }).detach();
    } catch (const std::system_error&) {
        return;
    }
    std::unique_lock lock(of->mutex);
    of->written.wait_for(lock, time_to_log, [&] { return of->is_written; });
}

[[noreturn]] void end_process(int number, const std::function<void()>& write)
{
    log_in_time(write);
    std::_Exit(128 + number);
}

}  // namespace

/// State that the loop and the thread of the signals share.
struct stop_signals::shared {
    std::mutex mutex;
    std::condition_variable answered;
    asio::any_io_executor executor;  // empty: there is no loop
    bool is_stopping = false;
    unsigned answers = 0;

    // On the io thread alone.
    std::function<void()> action;
    bool stops = false;

    void stop()
    {
        stops = true;
        const auto call = action;
        if (call) call();
    }
};

/// The handlers of the signals, and the pipe through which they come.
class stop_signals::pipe_ends {
public:
    pipe_ends()
    {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0)
            throw std::system_error(errno, std::generic_category(), "pipe for signals");
        ::fcntl(ends_[1], F_SETFL, O_NONBLOCK);  // a handler never waits
        where_signals_go = ends_[1];
        struct sigaction action {};
        action.sa_handler = pass_stop_signal;
        action.sa_flags = SA_RESTART;
        for (std::size_t i = 0; i < stopping_signals.size(); ++i)
            ::sigaction(stopping_signals[i], &action, &before_[i]);
    }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;
    ~pipe_ends()
    {
        for (std::size_t i = 0; i < stopping_signals.size(); ++i)
            ::sigaction(stopping_signals[i], &before_[i], nullptr);
        where_signals_go = -1;
        for (const int end : ends_) ::close(end);
    }

    void end_reading() const
    {
        constexpr unsigned char none = 0;
        [[maybe_unused]] const auto written = ::write(ends_[1], &none, 1);
    }

    /// The next signal; 0: reading ends; nothing: none has come in time.
    std::optional<int> next(std::optional<stop_clock::time_point> until) const
    {
        for (;;) {
            pollfd waited{ends_[0], POLLIN, 0};
            const int ready = ::poll(&waited, 1, until ? milliseconds_until(*until) : -1);
            unsigned char number = 0;
            if (ready > 0 && ::read(ends_[0], &number, 1) == 1) return number;
            if (ready == 0 && stop_clock::now() >= *until) return std::nullopt;
        }
    }

private:
    static int milliseconds_until(stop_clock::time_point until)
    {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - stop_clock::now()).count();
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
    }

    std::array<int, 2> ends_{-1, -1};
    std::array<struct sigaction, stopping_signals.size()> before_{};
};

stop_signals::stop_signals(std::optional<limits> within)
    : within_(within), shared_(std::make_shared<shared>()), pipe_(std::make_unique<pipe_ends>())
{
    thread_ = std::thread([this] { receive(); });
}

stop_signals::~stop_signals()
{
    pipe_->end_reading();
    thread_.join();
}

stop_signals::loop::loop(stop_signals& signals, asio::any_io_executor executor) : signals_(signals)
{
    const std::lock_guard only(signals_.shared_->mutex);
    signals_.shared_->executor = std::move(executor);
    if (signals_.shared_->is_stopping) asio::post(signals_.shared_->executor, [of = signals_.shared_] { of->stop(); });
}

stop_signals::loop::~loop()
{
    const std::lock_guard only(signals_.shared_->mutex);
    signals_.shared_->executor = {};
}

void stop_signals::on_first(std::function<void()> action)
{
    shared_->action = std::move(action);
    const auto call = shared_->action;
    if (shared_->stops && call) call();
}

// Of the io thread nothing is touched here, because it may be anywhere.
void stop_signals::receive()
{
    const auto one = pipe_->next(std::nullopt);
    if (*one == 0) return;
    const int number = *one;
    const auto began = stop_clock::now();
    first(number);
    bool judges_loop = within_.has_value();
    for (;;) {
        std::optional<stop_clock::time_point> until;
        if (within_) until = began + (judges_loop ? std::min(within_->held, within_->whole) : within_->whole);
        const auto next = pipe_->next(until);
        if (next && *next == 0) return;
        if (next) end_process(*next, [number = *next] { log::warning("stopped_at_once", {{"signal", number}}); });
        if (!judges_loop) give_up(number, false);
        if (!loop_answers()) give_up(number, true);
        judges_loop = false;
    }
}

void stop_signals::first(int number)
{
    log_in_time([number] { log::info("stopping", {{"signal", number}}); });
    const std::lock_guard only(shared_->mutex);
    shared_->is_stopping = true;
    if (shared_->executor) asio::post(shared_->executor, [of = shared_] { of->stop(); });
}

// Where no loop runs any more, none is held.
bool stop_signals::loop_answers()
{
    std::unique_lock lock(shared_->mutex);
    if (!shared_->executor) return true;
    const auto before = shared_->answers;
    asio::post(shared_->executor, [of = shared_] {
        const std::lock_guard only(of->mutex);
        ++of->answers;
        of->answered.notify_one();
    });
    return shared_->answered.wait_for(lock, time_to_answer, [&] { return shared_->answers != before; });
}

void stop_signals::give_up(int number, bool held)
{
    const auto limit = std::chrono::duration<double>(held ? within_->held : within_->whole).count();
    const char* what = waits_for_;
    end_process(number, [=] {
        log::warning("stop_gave_up", {{"signal", number},
                                      {"seconds", limit},
                                      {"loop", held ? "does not answer" : "answers"},
                                      {"waited_for", what}});
    });
}

}  // namespace cmcp
