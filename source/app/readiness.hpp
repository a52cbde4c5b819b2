#pragma once

#include "async/asio.hpp"
#include "config/settings.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// Whether runs can work: a disk with room that takes writes, a launcher, a Python interpreter. Looks when it is asked,
/// at most every two seconds, on a thread of its own, because a disk may hang. A change is a line of the log. Io thread
/// only.
class readiness {
public:
    /// A sentence that says what the launcher lacks and what to do; nothing: the launcher works. Must not block.
    using launcher_check = std::function<std::optional<std::string>()>;

    readiness(const settings& config, asio::any_io_executor executor, launcher_check launcher);
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
