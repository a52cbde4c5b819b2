#pragma once

#include "jail/refusal_listener.hpp"
#include "posix/unique_fd.hpp"

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The calls that a run was refused, each once. Their rate is limited, so a run that tries without end slows down only
/// itself.
class refusal_notes {
public:
    void listen(unique_fd listener);
    void begin() { denied_.clear(); }  ///< calls before the begin are not the run's
    void look();                       ///< once in a while: more may be answered again
    explicit operator bool() const { return static_cast<bool>(listener_); }

    /// -1: there is no listener, or too many came at once.
    int readable() const { return budget_ > 0 ? listener_.readable() : -1; }

    bool hear();  ///< true: the run must end for what it tried
    std::vector<std::string> take() { return std::move(denied_); }

private:
    refusal_listener listener_;
    int budget_ = 0;  ///< how many more are answered before the next look
    std::vector<std::string> denied_;
};

}  // namespace cmcp::sandbox
