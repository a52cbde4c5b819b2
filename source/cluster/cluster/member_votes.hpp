#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// How long the words of members count. A server is cut off by its own judgement before others may take over, because
/// `touch` is shorter than `silence`, and stays so until they are done, because `promise` is longer than `verdict`. The
/// difference of each two is the time that a slow machine has: a second to end what runs, four to take over.
struct watch_times {
    std::chrono::milliseconds touch{2000};     ///< an acknowledgement, from the sending of its beat
    std::chrono::milliseconds silence{3000};   ///< since the last beat of a member that may be gone
    std::chrono::milliseconds promise{10000};  ///< that the beats of such a member are not acknowledged
    std::chrono::milliseconds verdict{6000};   ///< from the question
};

/// The knowledge of one member of a cluster about the others: whom it is in touch with, whom it has promised to keep
/// out, and who is gone by the votes of most members. While a verdict about a member is good, this member is cut off by
/// its own judgement, since any two majorities share a member. Two members may have a verdict about the same third one.
/// No clock: `now` never goes back. With fewer than three members, or switched off, nobody is cut off and nobody gone.
class member_votes {
public:
    using time = std::chrono::steady_clock::time_point;

    /// `started`: of this process. `has_promised`: an earlier life may have, so recently that it counts.
    member_votes(const std::vector<std::string>& others, bool active, time started, bool has_promised,
                 watch_times times = {});

    bool is_active() const { return active_; }

    /// `by` has acknowledged the beat of this member that was sent then.
    void note_acknowledged(std::string_view by, time sent, time now);

    time in_touch_until() const;  ///< unless more is acknowledged
    bool is_in_touch(time now) const { return !active_ || now < in_touch_until(); }
    std::size_t count_in_touch(time now) const;  ///< other members that have acknowledged a late beat

    /// Counts how often this member was cut off and came in touch; 0: never yet.
    std::uint64_t epoch() const { return epoch_; }

    /// A beat of another member. False: it is not acknowledged, because the member is suspended.
    bool take_beat(std::string_view from, time now);

    /// Whether this member agrees that another one is gone. After vote() that one is suspended, if so.
    bool may_vote(std::string_view about, time now) const;
    bool vote(std::string_view about, time now);
    bool is_suspended(std::string_view member, time now) const;

    /// The own vote, before others are asked at `now`. False: there is no use in asking.
    bool ask(std::string_view about, time now);

    /// `by` has agreed to what it was asked then.
    void note_granted(std::string_view about, std::string_view by, time since);

    /// Whether most members have agreed, and their promises last.
    bool has_verdict(std::string_view about, time now) const;

private:
    static constexpr time never = time::min();

    struct other {
        time acknowledged = never;     // sending of this member's last beat that it has acknowledged
        time heard = never;            // its last beat while it was not suspended
        time suspended_until = never;  // by a promise
        std::map<std::string, time, std::less<>> grants{};  // by whom, and when it was asked; own: empty name
    };

    std::map<std::string, other, std::less<>> others_;
    std::size_t majority_;
    bool active_;
    time started_;
    bool has_promised_;
    watch_times times_;
    std::uint64_t epoch_ = 0;
};

}  // namespace cmcp
