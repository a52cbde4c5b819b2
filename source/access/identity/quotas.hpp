#pragma once

#include "async/asio.hpp"
#include "async/event.hpp"
#include "config/principal_limits.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

class identity_store;
struct settings;

/// The limits of each principal: everybody's of the settings, before them those of AUTH_QUOTAS, and before both those
/// of `container-mcp quota`, which count within a second. Io thread only.
class quotas {
public:
    using clock = event::clock;

    /// `config` must outlive this. `now`: the time.
    explicit quotas(const settings& config, std::function<clock::time_point()> now = clock::now);
    quotas(const quotas&) = delete;
    quotas& operator=(const quotas&) = delete;
    ~quotas();

    /// The limits of the principal at this server. Good until the next call.
    const principal_limits& of(std::string_view principal);

    void look_again();  ///< the store has changed

    /// The same without what it has at other servers.
    const principal_limits& whole(std::string_view principal);

    /// From now on what a principal has elsewhere (0: nothing) is taken off its limits.
    void count_elsewhere(std::function<const principal_limits&(std::string_view principal)> elsewhere)
    {
        elsewhere_ = std::move(elsewhere);
    }

    /// Must not outlive this.
    limit_of_principal each(std::uint64_t principal_limits::*member)
    {
        return [this, member](std::string_view principal) { return of(principal).*member; };
    }

    /// For the sentence of a refusal, behind "as many as": the setting or quota, and its number. Counts the refusal.
    std::string refusal_in_words(std::string_view principal, std::uint64_t principal_limits::*member);

    /// The calls of tools that may begin now; nothing: any number may.
    std::optional<std::uint64_t> calls_left(std::string_view principal);

    /// Counts bytes that sandboxes of the principal have received or sent here. False: none are left; with 0 it looks
    /// whether there are enough for another connection. Those of an hour may move at once; then they come back evenly.
    bool take_network(std::string_view principal, std::uint64_t bytes);
    std::chrono::milliseconds network_wait(std::string_view principal);  ///< until there are some

    /// A call of a tool begins. Otherwise how long the caller has to wait before it asks again. The calls of a minute
    /// may come at once; then they come back evenly.
    std::chrono::milliseconds take_call(std::string_view principal);
    /// The same for what is no tool, and starts work or changes something: a cell of a notebook, an upload, a shell.
    awaitable<std::chrono::milliseconds> begin_call(std::string principal);
    using call_counter = std::function<awaitable<std::chrono::milliseconds>(const std::string& principal)>;
    void count_calls_by(call_counter counter) { counter_ = std::move(counter); }  ///< from now on, of all servers

    /// For a caller that has to wait so long: a sentence that says so.
    static std::string refusal_of_call(std::chrono::milliseconds wait);
    static std::int64_t seconds_to_wait(std::chrono::milliseconds wait);  ///< for Retry-After

    static void count_refused_call();  ///< that another one has decided about

private:
    /// Of so many in a time, what is left: all may be taken at once, and then comes back evenly.
    struct allowance {
        double left = 0;
        clock::time_point counted{};

        void refill(std::uint64_t most, std::chrono::seconds each, clock::time_point now);
        void widen(std::uint64_t before, std::uint64_t most);  ///< a limit that has grown counts at once
    };
    struct entry {
        principal_limits limits;
        principal_limits left{};  // of them, where what is elsewhere counts
        clock::time_point looked{};
        allowance calls{};    // that may begin now
        allowance network{};  // bytes
    };

    entry& look_up(std::string_view principal, clock::time_point now);
    static bool is_whole(const entry& own, clock::time_point now);
    principal_limits read(std::string_view principal);
    void forget_unused(clock::time_point now);
    identity_store* store();

    const settings& config_;
    std::function<clock::time_point()> now_;
    principal_limits everybody_;
    std::function<const principal_limits&(std::string_view principal)> elsewhere_;
    call_counter counter_;  ///< null: take_call()
    std::unique_ptr<identity_store> store_;
    std::map<std::string, entry, std::less<>> known_;
};

}  // namespace cmcp
