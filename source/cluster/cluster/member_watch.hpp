#pragma once

#include "async/asio.hpp"
#include "async/task_group.hpp"
#include "cluster/member_links.hpp"
#include "cluster/member_votes.hpp"
#include "cluster/members.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// How often members talk. Nobody is cut off by a pause that is shorter than `touch` of watch_times without a `beat`.
struct watch_pace {
    std::chrono::milliseconds beat{500};
    std::chrono::milliseconds question{1000};  ///< the longest wait for an answer
    std::chrono::milliseconds again{100};      ///< between questions for votes
};

/// The members of a cluster watch each other without a directory (member_votes). Io thread only.
class member_watch {
public:
    using call = std::function<awaitable<>()>;

    /// Off, or with fewer than three members, there are no beats, nobody is cut off and nobody gone. This server runs
    /// from now on. `promises`: a file whose time says when this server has promised something, for its next life.
    member_watch(asio::any_io_executor executor, const members& all, std::shared_ptr<member_links> links, bool active,
                 std::filesystem::path promises, watch_times times = {}, watch_pace pace = {});
    member_watch(const member_watch&) = delete;
    member_watch& operator=(const member_watch&) = delete;
    ~member_watch();

    bool is_active() const;

    /// Runs `in_touch` before this server counts as in touch, at its start as well: others may have taken over what it
    /// has. Runs `cut_off` when it no longer counts. Either may be empty; one that throws is run again after a beat.
    /// Before start().
    void on_change(call in_touch, call cut_off);

    /// Begins to beat and to watch, until the tasks are cancelled.
    void start(task_group& tasks);

    /// Whether this server may serve what others could bring up.
    bool is_in_touch() const;

    /// Asks the others until most agree that the member is gone (true), it has answered a beat again (false), or the
    /// limit is over (nothing). Another server may come to the same verdict at the same time. The member stays cut off
    /// for four seconds more, in which what was begun has to be done.
    awaitable<std::optional<bool>> is_gone(std::string member, std::chrono::milliseconds limit);

    bool take_beat(std::string_view from);                     ///< whether it is acknowledged
    bool vote(std::string_view from, std::string_view about);  ///< whether this member agrees that `about` is gone

private:
    struct state;
    std::shared_ptr<state> state_;  // coroutines keep it as well
};

}  // namespace cmcp
