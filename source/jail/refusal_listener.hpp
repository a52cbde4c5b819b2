#pragma once

#include "posix/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// Hears of the calls that a filter made by announce_refusals() refuses, and answers them (seccomp_unotify(2)). The
/// calling thread waits for the answer: a few microseconds. Refused calls fail with EPERM as without a listener; a
/// connect goes on to the kernel, which knows no way out; its destination is only noted.
/// Their rate is limited, so a run that tries without end slows down only itself.
class refusal_listener {
public:
    refusal_listener() = default;
    /// The return of install_announcing_filter(), in whatever process. `doors`: the ports of a cell with a network by
    /// names.
    explicit refusal_listener(unique_fd listener, std::vector<std::uint16_t> doors = {});

    void begin() { denied_.clear(); }  ///< calls before the begin are not the run's
    void look();                       ///< once in a while: more may be answered again

    /// -1: there is no listener, nobody is left who could be heard, or too many came at once. It stays open for as long
    /// as this object lives: a watch ends with the last copy of a descriptor, and clones of this process have some.
    int readable() const { return budget_ > 0 && !over_ ? listener_.get() : -1; }

    /// Answers one call, where one waits. True: the run must end for it, a call of a foreign architecture.
    bool answer();
    std::vector<std::string> take() { return std::move(denied_); }  ///< what was tried, each once

private:
    void note(std::string what);

    unique_fd listener_;
    std::vector<std::uint16_t> doors_;
    bool over_ = false;  ///< no filtered process is left, and none ever will be
    int budget_ = 0;     ///< how many more are answered before the next look
    std::vector<std::string> denied_;
    std::vector<std::byte> call_, reply_;  // as long as this kernel's structures are
};

}  // namespace cmcp::sandbox
