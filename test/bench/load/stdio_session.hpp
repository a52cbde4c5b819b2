#pragma once

#include "load/client_session.hpp"
#include "posix/unique_fd.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>

#include <sys/types.h>

namespace cmcp::load {

/// A server process of its own, one message a line over its standard input and output.
class stdio_session final : public client_session {
public:
    stdio_session(session_host& host, role kind, std::size_t home);
    ~stdio_session() override;

private:
    struct pipes;  // outlives the session while an operation on it is pending

    void connect() override;
    void transmit(std::string text, const operation& what) override;
    void shut() override;

    int spawn(unique_fd input, unique_fd output);  ///< the error, or 0
    void read_more();
    void take(std::string_view bytes);
    void line(std::string_view text);
    void send_line(std::string text);

    std::shared_ptr<pipes> pipes_;
    std::string partial_;
    pid_t child_ = -1;
};

}  // namespace cmcp::load
