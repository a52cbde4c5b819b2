#include "commands/archive_progress.hpp"

#include "commands/text_table.hpp"

#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <stdexcept>

namespace cmcp::command {

namespace {

constexpr auto between_lines = std::chrono::milliseconds(200);

volatile sig_atomic_t interrupted = 0;

void note_signal(int) { interrupted = 1; }

void handle_signals(void (*handler)(int))
{
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(each, &action, nullptr);
}

}  // namespace

archive_progress::archive_progress(const char* when_interrupted)
    : when_interrupted_(when_interrupted),
      is_terminal_(::isatty(STDERR_FILENO) != 0),
      began_(std::chrono::steady_clock::now()),
      last_(began_)
{
    handle_signals(note_signal);
}

archive_progress::~archive_progress()
{
    clear();
    handle_signals(SIG_DFL);
}

void archive_progress::tell(std::uint64_t bytes, const std::string& what)
{
    if (interrupted != 0) throw std::runtime_error(when_interrupted_);
    const auto now = std::chrono::steady_clock::now();
    if (!is_terminal_ || now - last_ < between_lines) return;
    last_ = now;
    const double rate = static_cast<double>(bytes) / std::chrono::duration<double>(now - began_).count();
    std::cerr << "\r\033[K" << what << ", " << bytes_text(static_cast<double>(bytes)) << ", " << bytes_text(rate)
              << "/s" << std::flush;
    shown_ = true;
}

void archive_progress::clear()
{
    if (shown_) std::cerr << "\r\033[K" << std::flush;
    shown_ = false;
}

}  // namespace cmcp::command
