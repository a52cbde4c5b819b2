#pragma once

#include "async/asio.hpp"
#include "posix/unique_fd.hpp"
#include "wire/run_request.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::sandbox {

/// The server's side of a run's terminal. Its end hangs the terminal up. Io thread only.
class terminal_master {
public:
    /// Waits for the byte that a run with a terminal sends first of all over its channel. Nothing: the run has ended
    /// before, or has sent something else.
    static awaitable<std::optional<terminal_master>> receive(asio::posix::stream_descriptor& channel);

    terminal_master(const asio::any_io_executor& executor, unique_fd master);

    /// The next output of the terminal, at most `most` bytes, waiting for it. While nobody reads, the programs that
    /// write to the terminal wait once a few KiB are under way. Empty: no program has the terminal open, or the wait
    /// was cancelled.
    awaitable<std::string> read(std::size_t most);
    std::string read_now(std::size_t most);  ///< without waiting; empty: nothing is there

    /// Types `keys`, waiting while the programs do not read. False: the terminal is closed.
    awaitable<bool> write(std::string keys);

    void resize(terminal_size size);  ///< the programs in the foreground get SIGWINCH

    /// SIGINT, SIGQUIT or SIGTSTP to the programs in the foreground, whatever the terminal's modes are. False: the
    /// kernel sends no other signal so.
    bool signal(int number);

    /// How the programs read what is typed.
    struct modes {
        bool by_line = true;    ///< canonical: a line at a time, of at most 4095 bytes
        char end_of_input = 4;  ///< VEOF
        int foreground = 0;     ///< the process group; 0: not known
    };
    modes read_modes();

    void wake();   ///< ends the pending waits
    void close();  ///< hangs up
    bool is_open() const { return master_.is_open(); }

private:
    asio::posix::stream_descriptor master_;
};

}  // namespace cmcp::sandbox
