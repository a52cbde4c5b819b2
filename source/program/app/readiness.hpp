#pragma once

#include "async/asio.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

struct settings;

/// Whether runs can work: a disk with room that takes writes, a launcher, a Python interpreter, an audit that is
/// required. Looks at the disk when it is asked, at most every two seconds, on a thread of its own, because a disk may
/// hang. A change is a line of the log. Io thread only.
class readiness {
public:
    /// Sentences that say what the server itself lacks and what to do: its launcher, its audit. Must not block.
    using own_check = std::function<std::vector<std::string>()>;

    readiness(const settings& config, asio::any_io_executor executor, own_check own);
    readiness(const readiness&) = delete;
    readiness& operator=(const readiness&) = delete;
    ~readiness();

    /// The reasons that keep runs from working; empty: none does. Answers within two seconds, whatever the disk does.
    awaitable<std::vector<std::string>> problems();

private:
    struct state;
    std::shared_ptr<state> state_;  // shared with the look that is under way
};

}  // namespace cmcp
