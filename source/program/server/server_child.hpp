#pragma once

#include "config/load_settings.hpp"
#include "posix/unique_fd.hpp"

#include <string>
#include <vector>

#include <sys/types.h>

namespace cmcp::command {

/// How this process was started. Its own copy of both is without secrets (hide_secrets()).
struct own_start {
    std::vector<std::string> words;
    environment variables;
};

/// This program once more, in a process of its own, which ends when its standard input does. It must be ended before
/// this object is: the destructor kills it.
class server_child {
public:
    /// `listening`: a socket that the child is to have as `handed_descriptor`; may be none.
    /// Throws std::system_error.
    server_child(const own_start& how, unique_fd listening);
    server_child(const server_child&) = delete;
    server_child& operator=(const server_child&) = delete;
    ~server_child();

    static constexpr int handed_descriptor = 3;

    pid_t number() const { return number_; }
    int process() const { return process_.get(); }            ///< pidfd
    unique_fd take_streams() { return std::move(streams_); }  ///< the other end of standard input and output

private:
    pid_t number_ = -1;
    unique_fd process_;
    unique_fd streams_;
};

}  // namespace cmcp::command
