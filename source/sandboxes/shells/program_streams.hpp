#pragma once

#include "async/event.hpp"
#include "posix/unique_fd.hpp"
#include "sandbox/output_receiver.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace cmcp {

/// The standard streams of a program without a terminal, between the program and one client. The program waits while
/// the client does not read, and the client learns how much of its input the program has taken. Io thread only.
class program_streams final : public sandbox::output_receiver {
public:
    /// Bytes of input that may be on their way to the program.
    static constexpr std::size_t window = 256 * 1024;

    /// `input`: the end of a pipe from which the program reads.
    program_streams(const asio::any_io_executor& executor, unique_fd input);

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override;

    /// What the client is told next.
    struct message {
        enum class kind {
            output,  ///< `bytes` of standard output
            errors,  ///< `bytes` of standard error
            taken,   ///< the program has taken so many bytes of its input since the last such message
            end,     ///< the program has ended, and all was read
        };
        kind is = kind::end;
        std::string bytes{};
        std::uint64_t taken = 0;
    };
    awaitable<message> next();

    bool feed(std::string bytes);  ///< false: more than `window` allows, so it is dropped
    void end_input();              ///< behind all that was fed

    /// Gives the program its input, until it ends or wants no more.
    awaitable<> write_input();

    /// The program has ended; `problem`: a sentence for standard error, empty for none.
    void finish(const std::string& problem);

private:
    asio::posix::stream_descriptor input_;
    std::deque<std::string> waiting_;
    std::size_t waiting_bytes_ = 0;
    bool input_ends_ = false;
    std::uint64_t taken_ = 0;
    std::deque<message> output_;
    std::size_t output_bytes_ = 0;
    bool ended_ = false;
    event changed_;
    event has_input_;
};

}  // namespace cmcp
