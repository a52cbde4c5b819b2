#pragma once

#include "jail/local_call.hpp"
#include "posix/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// Hears of the calls that a filter made by announce_refusals() refuses, and answers them (seccomp_unotify(2)). The
/// calling thread waits for the answer: a few microseconds. Refused calls fail as without a listener. A
/// connect goes on to the kernel, which knows no way out; its destination is only noted. Where the cell's first process
/// makes sockets, calls on UNIX sockets are handed over to it.
/// Their rate is limited, so a run that tries without end slows down only itself.
class refusal_listener {
public:
    refusal_listener() = default;
    /// The return of install_announcing_filter(), in whatever process. `doors`: the ports of a cell with a network by
    /// names.
    /// `makes_sockets`: the cell's first process carries out what take_call() gives.
    explicit refusal_listener(unique_fd listener, std::vector<std::uint16_t> doors = {}, bool makes_sockets = false);

    void begin() { denied_.clear(); }  ///< calls before the begin are not the run's
    void tick();                       ///< once in a while: more may be answered again

    /// -1: there is no listener, nobody is left who could be heard, or too many came at once. It stays open for as long
    /// as this object lives: a watch ends with the last copy of a descriptor, and clones of this process have some.
    int readable() const { return budget_ > 0 && !over_ ? listener_.get() : -1; }

    /// Whether a process of the filter is left, which waits for answers or may. Looks now.
    bool has_callers();

    /// Answers one call, where one waits. True: the run must end for it, a call of a foreign architecture, which then
    /// gets no other answer. Where `may_end_run` is false such a call fails.
    bool answer(bool may_end_run = true);
    /// After answer(): the call that it has not answered, because the first process of the cell does.
    std::optional<local_call> take_call() { return std::exchange(call_to_carry_out_, std::nullopt); }

    void note(std::string what);                                    ///< as tried; empty: nothing worth telling
    std::vector<std::string> take() { return std::move(denied_); }  ///< what was tried, each once

private:
    bool hand_over(const seccomp_notif& call);

    unique_fd listener_;
    std::vector<std::uint16_t> doors_;
    bool makes_sockets_ = false;
    std::optional<local_call> call_to_carry_out_;
    bool look_for_calls();  ///< whether one waits

    bool over_ = false;  ///< no filtered process is left, and none ever will be
    int budget_ = 0;     ///< how many more are answered before the next look
    std::vector<std::string> denied_;
    std::vector<std::byte> call_, reply_;  // as long as this kernel's structures are
};

}  // namespace cmcp::sandbox
