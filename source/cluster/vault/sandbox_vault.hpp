#pragma once

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "async/task_group.hpp"
#include "async/turns.hpp"
#include "kernels/kernel_manager.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "vault/passing_chunks.hpp"
#include "vault/sandbox_bucket.hpp"
#include "vault/stored_state.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

struct settings;

/// Keeps sandboxes in object storage while they are used, and brings those here whose server is gone. A sandbox has one
/// owner at a time. Io thread only.
class sandbox_vault {
public:
    /// Whether the other server is gone for sure, so that it serves no sandbox now. Nothing: it does not answer, but
    /// the others do not agree yet.
    using gone_question = std::function<awaitable<std::optional<bool>>(std::string node)>;

    /// SNAPSHOT_STORE and its like. All must outlive this. Throws config_error.
    sandbox_vault(asio::any_io_executor executor, const settings& config, sandbox_manager& sandboxes,
                  kernel_manager& kernels);
    ~sandbox_vault();

    /// Before sandboxes are used.
    awaitable<> start();

    /// In a cluster, before start(): sandboxes are used only while `in_touch` says that nobody may take them over.
    void share(sandbox_owners& owners, std::function<bool()> in_touch);

    awaitable<> settle();  ///< this server is registered anew: gives up what others have claimed meanwhile
    void hold(bool on);    ///< others may take over what is here: its programs stand still; or nobody has

    /// A sandbox has another owner (`owner`), or was deleted (null).
    void hear_owner(const std::string& handle, const sandbox_claim* owner);
    void hear_owners(const std::map<std::string, sandbox_claim>& all);  ///< those of all that are claimed

    /// Keeps sandboxes that are due until it is cancelled.
    awaitable<> run();

    /// Keeps the sandbox now where it was used since it was kept. Throws sandbox_error.
    awaitable<> keep(std::string id);

    /// At the end of this server: keeps all that is not, and notes that it is whole. As far as `limit` goes.
    awaitable<> release_all(std::chrono::milliseconds limit);

    /// The node of a sandbox that was claimed; empty: that of its handle. This node itself also for one that is on its
    /// way here, or from here to another server: find() waits until it is there. So it is for one of this node that is
    /// not here before the claims were read.
    std::string moved_to(std::string_view handle) const;
    bool is_here(const std::string& handle) const;  ///< and not on its way

    /// The handle of the principal's default sandbox: `sbx_home_<32 hexadecimal digits>`, of which nobody without
    /// SNAPSHOT_KEY learns the name.
    std::string default_of(const std::string& principal);
    bool has_default_of(const std::string& principal);  ///< claimed, and here

    /// Whether a default sandbox that nobody has claimed belongs to this server; before run().
    void ask_home(std::function<awaitable<bool>(std::string principal)> is_home) { is_home_ = std::move(is_home); }

    /// The server, where it is another one, that should have a sandbox in place of this one, because that has what it
    /// needs; before run().
    void choose_place(std::function<std::string(const sandbox_record& of)> place) { place_of_ = std::move(place); }

    std::optional<sandbox_record> find_here(const std::string& id) const;
    std::vector<std::string> sandboxes();  ///< those of this server that may move

    /// Whether another server has taken over a sandbox of the principal from this one since then.
    bool has_lost(const std::string& principal, event::clock::time_point since) const;

    /// Those in which nothing goes on, the longest unused first. `stopped`: without programs in the
    /// background.
    std::vector<std::string> idle_sandboxes(bool stopped);

    /// Whether another server, which is asked, has brought the sandbox to itself by find().
    using take_question = std::function<awaitable<bool>()>;

    /// Moves a sandbox in which nothing goes on to the server `to`: ends its processes, keeps it, makes the other one
    /// its owner and lets it `take` the sandbox. Callers who come meanwhile wait. Throws sandbox_error.
    awaitable<> hand_over(std::string id, std::string to, take_question take);

    /// The server that has the sandbox from now on, where `node` does not answer. It is brought here where it was
    /// released or its owner is gone. `node` again: that is not gone, so it may answer now. Empty: nothing is kept.
    /// Throws sandbox_error.
    awaitable<std::string> find(std::string handle, std::string node, gone_question is_gone);

private:
    awaitable<bool> keep_all(std::vector<std::string> ids, bool release, std::chrono::milliseconds limit);
    awaitable<> keep_some(std::shared_ptr<std::vector<std::string>> left, bool release);
    bool is_due(const sandbox_record& record, double now) const;
    void refuse_where_unsure(const sandbox_record& where) const;
    static bool is_default(std::string_view handle);
    const std::string* principal_of(const std::string& handle) const;  ///< null: nobody has named it yet
    awaitable<> name_defaults();
    awaitable<> bring_default(std::string principal);
    awaitable<> adopt_defaults();
    awaitable<> adopt(std::string handle);
    awaitable<> begin_default(std::string handle);
    awaitable<> claim_default(std::string handle);
    awaitable<> begin_here(std::string handle, std::string principal, stored_state state);
    awaitable<bool> begins_empty(std::string handle, std::uint64_t epoch);
    awaitable<bool> begins_with_files(std::string handle, std::uint64_t epoch);
    awaitable<bool> brings_back(sandbox_record record, std::uint64_t epoch);
    bool may_begin_unclaimed(const std::string& handle) const;
    awaitable<std::filesystem::path> copy_of(sandbox_record record);
    void tell_next(const std::string& id, std::string sentence);
    awaitable<> take_back_released();
    awaitable<> keep_due();
    void note_deleted(const std::string& id);
    awaitable<> forget_deleted();
    awaitable<> forget_deleted_one(std::string id);
    awaitable<> bring_lost();
    awaitable<> bring_newer();
    awaitable<> bring_newer_one(std::string handle);
    awaitable<> bring_newer_quietly();
    awaitable<> bring_claimed();
    awaitable<> bring_quietly(std::string handle);
    awaitable<> forget_quietly();
    awaitable<> look_at_claims();
    awaitable<> take_claims_of_before();
    awaitable<sandbox_claim> owner_of(std::string handle);
    awaitable<sandbox_claim> claim_or_owner(std::string handle, std::string to, sandbox_claim before, bool gone);
    awaitable<> give_up_lost(std::string handle);
    bool is_newer_here(const std::string& handle, std::uint64_t epoch) const;
    awaitable<> claim_again();
    awaitable<> claim_by_storage(std::string handle);
    bool is_alone() const { return owners_ == nullptr; }
    awaitable<stored_state> state_of(std::string id);
    awaitable<> keep_in_turn(std::string id, bool release);
    awaitable<> keep_now(std::string id, bool release);
    awaitable<bool> is_still_own(sandbox_record record, stored_state& state);
    void refuse_where_busy(const std::string& id) const;
    awaitable<> let_calls_in(std::string id);
    awaitable<> hand_over_in_turn(sandbox_record record, std::string to, take_question take);
    awaitable<> give_up(sandbox_record record, sandbox_claim owner);
    awaitable<> lose(sandbox_record record, sandbox_claim owner);
    awaitable<> keep_content(sandbox_record record, stored_state& state);
    awaitable<> keep_calls(sandbox_record of, std::chrono::system_clock::time_point files_began, stored_state& state,
                           std::set<std::string>& known);
    awaitable<stored_folder> put_folder(std::filesystem::path folder, sandbox_record of, std::uint64_t epoch,
                                        std::set<std::string>& known);
    awaitable<> put_file(passing_chunk chunk);
    awaitable<std::string> put_manifest(sandbox_record record, const stored_state& state);
    awaitable<> note_kept(std::string id, stored_state state);
    awaitable<> remove_old(std::string id, std::uint64_t epoch, std::vector<std::string> old, stored_state now);
    stored_record record_of(const sandbox_record& about);

    static void count(std::string_view outcome);

    struct nothing_kept;
    awaitable<bool> comes_free(std::string node, gone_question is_gone);
    awaitable<sandbox_claim> take_over(std::string handle, sandbox_claim before);
    awaitable<std::string> find_in_turn(std::string handle, std::string node, gone_question is_gone);
    awaitable<> bring(snapshots::snapshot_manifest manifest, std::uint64_t epoch);
    awaitable<> fetch_file(passing_chunk chunk);
    awaitable<> make_folders(snapshots::snapshot_manifest manifest, sandbox_record record,
                             std::filesystem::path passing, stored_state state);
    void add_record(stored_record record);
    awaitable<> bring_newest(std::string handle, std::uint64_t epoch);
    awaitable<std::filesystem::path> make_passing();

    asio::any_io_executor executor_;
    const settings& config_;
    sandbox_manager& sandboxes_;
    kernel_manager& kernels_;
    sandbox_bucket bucket_;
    std::map<std::string, std::string> principals_;         // by handles of default sandboxes
    std::map<std::string, stored_state> known_;             // without chunks, of sandboxes that are here
    sandbox_owners* owners_ = nullptr;                      // null: this server is alone
    std::map<std::string, sandbox_claim> claims_;           // as they were heard
    std::map<std::string, event::clock::time_point> lost_;  // by principal: when the last one was taken over
    std::map<std::string, bool> leaving_;                   // for another server; true: nobody uses it any more
    std::set<std::string> deleted_;  // whose snapshots are still there; files in `.forget` beside sandboxes as well
    bool looked_for_lost_ = false;
    bool looked_for_newer_ = false;
    bool read_claims_ = false;  // since this server began
    task_group giving_up_;
    std::function<awaitable<bool>(std::string)> is_home_{};
    std::function<std::string(const sandbox_record&)> place_of_{};
    bool adopted_ = false;
    turns turns_;        // of what is kept or brought of a sandbox
    event woken_;        // something is to be done
    bool away_ = false;  // the storage, as was logged
    std::function<bool()> in_touch_ = [] { return true; };
    bool ending_ = false;    // the server
    std::stop_source stop_;  // of work on the pool
    blocking_pool pool_{3};  // its own, because this work takes long; a sandbox is brought while others are kept
};

}  // namespace cmcp
