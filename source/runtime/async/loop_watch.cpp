#include "async/loop_watch.hpp"

#include "async/asio.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>

#include <execinfo.h>
#include <link.h>
#include <unistd.h>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds between_looks(1);
constexpr std::size_t most_frames = 24;
constexpr std::size_t frames_of_signal = 2;  // the handler, and what the kernel returns through

// Noted by the signal handler, which runs on the thread that reads it.
struct noted_stack {
    std::array<void*, most_frames> frames;
    int count = 0;
};

thread_local loop_watch* the_watch = nullptr;
thread_local noted_stack noted;

std::chrono::nanoseconds thread_time()
{
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// backtrace() reads tables of the program without a lock or an allocation, once its library is loaded.
void note_stack(int)
{
    const auto& steps = loop_steps::of_thread();
    if (the_watch == nullptr || steps.depth == 0 || noted.count != 0) return;
    if (loop_steps::clock::now() - steps.began < loop_watch::limit) return;
    noted.count = ::backtrace(noted.frames.data(), most_frames);
}

std::uintptr_t start_of_program()
{
    std::uintptr_t start = 0;
    const auto first = [](dl_phdr_info* object, std::size_t, void* into) {
        *static_cast<std::uintptr_t*>(into) = object->dlpi_addr;
        return 1;  // the program itself comes first
    };
    ::dl_iterate_phdr(first, &start);
    return start;
}

std::string text_of(std::span<void* const> frames)
{
    static const auto start = start_of_program();
    std::string text;
    std::array<char, 2 + 2 * sizeof(void*) + 1> number{};
    for (void* frame : frames) {
        // A frame of a caller holds where it goes on, behind the call.
        const auto offset = reinterpret_cast<std::uintptr_t>(frame) - start - (text.empty() ? 0 : 1);
        std::snprintf(number.data(), number.size(), "0x%jx", static_cast<std::uintmax_t>(offset));
        if (!text.empty()) text += ' ';
        text += number.data();
    }
    return text;
}

std::string take_noted()
{
    const auto count = static_cast<std::size_t>(std::exchange(noted.count, 0));
    if (count <= frames_of_signal) return {};
    return text_of(std::span(noted.frames).subspan(frames_of_signal, count - frames_of_signal));
}

}  // namespace

loop_watch::loop_watch(std::function<void(const step_figures&)> seen)
    : seen_(std::move(seen)), looked_(clock::now()), used_(thread_time())
{
    the_watch = this;
    start_timer();
    loop_steps::of_thread() = {.ended = &loop_watch::ended};
}

loop_watch::~loop_watch()
{
    loop_steps::of_thread() = {};
    if (timer_) ::timer_delete(*timer_);
    the_watch = nullptr;
}

// The signal is one that nothing else of the program uses; its handler stays for timers of other threads.
void loop_watch::start_timer()
{
    std::array<void*, 1> first{};
    ::backtrace(first.data(), 1);
    struct sigaction action {};
    action.sa_handler = note_stack;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    if (::sigaction(SIGPROF, &action, nullptr) != 0) return;
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = ::gettid();
    timer_t timer{};
    if (::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return;
    timer_ = timer;
    const timespec every{0, std::chrono::nanoseconds(limit).count()};
    const itimerspec times{every, every};
    ::timer_settime(timer, 0, &times, nullptr);
}

void loop_watch::ended(clock::duration took) noexcept
{
    if (the_watch != nullptr) the_watch->note(took);
}

// The processor time is read at most once a millisecond, because that is a system call.
void loop_watch::note(clock::duration took)
{
    const auto& steps = loop_steps::of_thread();
    const auto now = steps.began + took;
    const bool is_slow = took > limit;
    if (!is_slow && now - looked_ < between_looks) return;
    const auto before = std::exchange(used_, thread_time());
    looked_ = now;
    const auto used = std::min<std::chrono::nanoseconds>(used_ - before, took);
    if (!is_slow && used <= longest_.used) return;
    step_figures step{took, used, steps.what != nullptr ? steps.what : "", take_noted()};
    if (is_slow) {
        ++slow_steps_;
        if (seen_) seen_(step);
    }
    if (used > longest_.used) longest_ = std::move(step);
}

}  // namespace cmcp
