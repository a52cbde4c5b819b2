#pragma once

#include "posix/unique_fd.hpp"

#include <cstdint>

struct epoll_event;

namespace cmcp::sandbox {

/// The descriptors that the launcher's loop waits for, each with a tag. A watched descriptor must be removed before it
/// is closed: a process that was cloned meanwhile may hold a copy, whose events would come without end (epoll(7)).
class watched_descriptors {
public:
    watched_descriptors();  ///< throws step_failed

    void add(int fd, std::uint64_t tag);                     ///< until it is readable; throws step_failed
    void remove(int fd);                                     ///< nothing where it was removed or closed before
    void replace(int& now, int wanted, std::uint64_t tag);   ///< -1: none; throws step_failed
    void want_room(int fd, std::uint64_t tag, bool wanted);  ///< until it is writable, too

    int wait(epoll_event* events, int most, int patience_ms);  ///< how many

private:
    unique_fd poll_;
};

}  // namespace cmcp::sandbox
