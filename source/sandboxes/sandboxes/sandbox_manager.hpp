#pragma once

#include "async/blocking_pool.hpp"
#include "async/task_group.hpp"
#include "config/labels.hpp"
#include "files/reservations.hpp"
#include "files/sandbox_homes.hpp"
#include "identity/quotas.hpp"
#include "mcp/caller.hpp"
#include "networks/sandbox_network.hpp"
#include "runs/sandbox_error.hpp"
#include "sandboxes/image_choice.hpp"
#include "sandboxes/image_fetches.hpp"
#include "sandboxes/sandbox_activities.hpp"
#include "sandboxes/sandbox_cells.hpp"
#include "sandboxes/sandbox_leases.hpp"
#include "sandboxes/sandbox_paths.hpp"
#include "sandboxes/tool_rights.hpp"
#include "store/record_folder.hpp"
#include "store/sandbox_store.hpp"
#include "text/handles.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

struct settings;

struct new_sandbox {
    std::string name{};                     ///< empty: one is made up
    std::string image{};                    ///< empty: SANDBOX_DEFAULT_IMAGE
    bool passing = false;                   ///< ends with the session of its caller, where that ends
    std::optional<network_wish> network{};  ///< nothing: SANDBOX_NETWORK
    bool machine = false;                   ///< of class machine
    std::string user{};                     ///< the name of its account; empty: the usual one
    std::vector<std::string> labels{};      ///< that its server must have: "gpu=a100"
    std::optional<double> timeout{};        ///< seconds of its lease; nothing: it has none
    std::string at_timeout = "pause";       ///< or "delete"
};

/// The life of sandboxes: made, found by their owner and nobody else, kept over restarts, stopped when idle, deleted.
/// Throws sandbox_error; a foreign sandbox and one that never was are the same NotFound. Io thread only.
class sandbox_manager {
public:
    /// Throws database_error, std::system_error. All but `folder` must outlive this. `handles` makes the ids.
    sandbox_manager(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                    blocking_pool& pool, const record_folder& folder, quotas& limits, handle_maker handles);
    sandbox_manager(const sandbox_manager&) = delete;
    sandbox_manager& operator=(const sandbox_manager&) = delete;

    /// Brings store and disk into agreement where no other process uses them, then looks after idle sandboxes.
    awaitable<> start();
    awaitable<> stop();  ///< ends the looking after

    awaitable<sandbox_record> create(caller who, new_sandbox wanted);

    /// Before an image is fetched for a new sandbox: whether the caller may make one with it, as code in a sandbox may
    /// not. Throws sandbox_error.
    void check_maker(const caller& who, const std::string& image) const;
    std::vector<sandbox_record> list(const caller& who);
    awaitable<std::vector<sandbox_record>> all_of(caller who);  ///< the same, read on the pool

    /// As `describe` makes it of all sandboxes that list() gives, on the pool: there may be thousands.
    awaitable<json::array> described(caller who, std::function<json::array(std::vector<listed_sandbox>)> describe);
    sandbox_record find(const caller& who, const std::string& id_or_name);

    /// find(), where no name means the caller's default sandbox, which is made when it is first needed; or of code its
    /// own.
    awaitable<sandbox_record> use(caller who, std::string id_or_name);

    /// The name by which callers may call their default sandbox, unless they have given it to another one.
    static constexpr const char* default_name = "default";

    /// The caller's default sandbox, or the own one of code, where it is here already.
    std::optional<sandbox_record> existing_default(const caller& who);

    /// Where kept outputs of the caller are at this server, also while its default sandbox is at another one: the
    /// record may have no handle then. Code has its own sandbox.
    sandbox_record place_of_outputs(const caller& who);

    const sandbox_homes& homes() const { return homes_; }  ///< of default sandboxes

    /// Called before a default sandbox is made that stays: it may be brought here instead.
    void before_default(std::function<awaitable<>(std::string owner)> bring) { bring_default_ = std::move(bring); }

    /// The record of a default sandbox whose files are `home`, which is not in the store yet.
    sandbox_record new_default(std::string id, std::string owner, std::string home);
    void rename(const sandbox_record& record, const std::string& id);  ///< while nothing goes on in it; blocks

    sandbox_record latest(const caller& who);  ///< for tools that name no sandbox; StateError when there is none
    awaitable<> remove(caller who, std::string id_or_name);

    /// Ends all that goes on in it, and keeps its files.
    awaitable<> end_processes(caller who, std::string id_or_name);
    awaitable<> end_processes(sandbox_record of, sandbox_error why);  ///< callers are told why

    /// A passing sandbox that a further session wants ends with that one.
    void hold(const caller& who, const sandbox_record& wanted);
    void end_session(const caller& who);  ///< removes its passing sandboxes when nothing goes on in them

    /// A new sandbox with a copy of another's files and packages.
    awaitable<sandbox_record> fork(caller who, std::string id_or_name, std::string name);
    awaitable<snapshot_record> snapshot(caller who, std::string id_or_name, std::string name);
    awaitable<snapshot_record> restore(caller who, std::string id_or_name, std::string snapshot);
    std::vector<snapshot_record> snapshots(const caller& who, const std::string& id_or_name);
    awaitable<> remove_snapshot(caller who, std::string id_or_name, std::string snapshot);

    /// Begins an activity: the sandbox counts as used until the entry goes.
    std::shared_ptr<sandbox_activities::entry> enter(const sandbox_record& where);

    /// A copy of the files, in a folder that the caller removes. Does not count as use, nor against the quota.
    /// `afterwards` may block on the disk.
    awaitable<std::filesystem::path> copy_aside(sandbox_record of, std::function<void()> afterwards);

    quotas& limits() const { return limits_; }  ///< of each principal

    /// Bytes of the disk for a write that begins. Throws QuotaExceeded when the owner's sandboxes and all writes that
    /// are under way would take more than the owner may have, or the default sandbox more than it may.
    reservations::share reserve(const sandbox_record& into, std::uint64_t bytes);
    std::uint64_t most_files_of(const sandbox_record& of);        ///< bytes that its files may have
    void extend(reservations::share& disk, std::uint64_t bytes);  ///< to so many bytes, where it has fewer

    /// Before a write of `bytes` begins and before it ends: measures the sandbox where something else goes on in it, or
    /// the write is large. Throws QuotaExceeded when what is there and what is reserved are too much.
    awaitable<> check_beside_others(sandbox_record into, std::uint64_t bytes);

    /// Measures the disk of the sandbox in the background, after a write; its reservation is given back then.
    void measure_soon(const sandbox_record& written, reservations::share disk = {});

    /// Looks for the packages of the sandbox in the background, after an installation without a report.
    void look_for_packages_soon(sandbox_record of);

    /// Removes a folder of places().make_passing() in the background.
    void remove_soon(std::string owner, std::filesystem::path what);

    /// A round of looking after sandboxes: `now` in seconds since 1970.
    awaitable<> sweep(double now);

    /// Called when a sandbox stops being used or is deleted, before its cell ends: kernels end with it.
    void on_stop(std::function<awaitable<>(std::string id)> ends) { stops_.push_back(std::move(ends)); }

    /// For sandbox_leases: as end_processes(), and the sandbox is paused. Gives what could not be kept, a phrase each.
    awaitable<std::vector<std::string>> end_for_pause(sandbox_record of, sandbox_error why);

    /// Called before what goes on in a sandbox ends for now, with a sentence without its stop that says why. Gives what
    /// could not be kept, a phrase; empty: nothing.
    void before_stop(std::function<awaitable<std::string>(std::string id, std::string why)> keeps)
    {
        keeps_.push_back(std::move(keeps));
    }

    /// Called when something begins in a sandbox that has services.
    void on_use(std::function<void(const sandbox_record& where)> used) { used_ = std::move(used); }

    /// Whether services of a sandbox have been started just now, and may not listen yet.
    bool comes_up(const std::string& id) const { return comes_up_ && comes_up_(id); }
    void comes_up_by(std::function<bool(const std::string& id)> comes) { comes_up_ = std::move(comes); }

    /// Tells how many processes of a sandbox only wait for the next call: idle kernels and shells whose place another
    /// sandbox may have.
    void count_idle(std::function<std::size_t(const std::string& id)> count) { idle_.push_back(std::move(count)); }

    /// Ends the longest unused sandbox in which nothing runs but those, for one that finds no place (backend::on_full).
    /// `own_alone`: only one of the same principal.
    awaitable<bool> make_room(sandbox::cell_name name, bool own_alone = false);

    /// Before something starts in a sandbox that stays: while the live sandboxes of its owner hold more memory than one
    /// caller may have, their longest unused one gives way. Throws QuotaExceeded where none can.
    awaitable<> admit_to_memory(sandbox_record where);
    awaitable<> admit_run(sandbox_record where);  ///< the same for the first run since the sandbox began or was stopped

    /// In place of a share of what the machine or the server's cgroup has; 0: any number.
    void set_memory_of_a_caller(std::uint64_t bytes) { memory_of_a_caller_ = bytes; }

    /// Called with the handle of each sandbox that was deleted.
    void on_delete(std::function<void(const std::string& id)> deleted) { deleted_.push_back(std::move(deleted)); }

    /// Called before a sandbox of the principal is made, with its name: it is its turn as long as the handle lives. Of
    /// several servers that count together.
    using making_turn = std::function<awaitable<std::shared_ptr<void>>(std::string principal, std::string name)>;
    void before_making(making_turn turn) { before_making_ = std::move(turn); }

    /// Says whether this server has labels; throws sandbox_error with what there is, where it has not.
    void check_labels_by(std::function<void(const label_map& wanted)> check) { has_labels_ = std::move(check); }

    /// The labels that are wanted, as a record has them. Throws sandbox_error: this server does not have them.
    std::string check_labels(const std::vector<std::string>& wanted) const;

    /// Called before a caller uses a sandbox; throws sandbox_error where nobody may now.
    void before_use(std::function<void(const sandbox_record& where)> check) { before_use_ = std::move(check); }

    /// Sandboxes that are not deleted although nobody has used them for SANDBOX_TTL.
    void keep_those(std::function<bool(const sandbox_record& each)> kept) { kept_ = std::move(kept); }

    /// Another server has the sandbox now. Ends all that goes on in it and moves its folder aside, into
    /// `.superseded` beside the others, where it stays for SANDBOX_TTL.
    awaitable<> give_up(sandbox_record lost);

    /// Ends the processes of all sandboxes; callers are told `why`.
    awaitable<> end_everything(sandbox_error why);
    void hold_everything(bool on);  ///< what runs in sandboxes stands still, or goes on

    bool is_busy(const std::string& id) const { return activities_.busy(id); }       ///< something goes on in it
    bool is_ending(const std::string& id) const { return activities_.closing(id); }  ///< what goes on in it ends

    sandbox_store& store() { return store_; }
    const sandbox_paths& places() const { return places_; }
    const handle_maker& handles() const { return handles_; }
    sandbox_cells& cells() { return cells_; }
    sandbox_leases& leases() { return leases_; }
    sandbox_network& network() { return network_; }
    tool_rights& tools() { return tools_; }
    bool offers_machines(const caller& who) const;  ///< sandboxes of class machine
    bool offers_network() const { return network_.offered(); }

    /// Gives a sandbox another network; connections of its programs end. Where it had none its processes end, too,
    /// because a network has only what starts in it: true.
    awaitable<bool> set_network(caller who, std::string id_or_name, network_wish wish);

    /// `scheme://host:port` for links, kept without a slash at its end; empty where there is no HTTP server.
    void set_public_url(std::string url);
    const std::string& public_url() const { return public_url_; }

    /// This server's address as the caller reaches it, in the same form.
    const std::string& address_for(const caller& who) const;

    /// For `who`, whose link leads to the address that they use. With tokens it is signed. `path`: relative to the
    /// working folder.
    std::string link_to(const caller& who, const sandbox_record& where, const std::string& path) const;
    static std::string uri_of(const sandbox_record& where, const std::string& path);  ///< for resources/read

    const image_choice& images() const { return images_; }
    image_fetches& fetches() { return fetches_; }

    static double now();  ///< seconds since 1970

private:
    struct measurement {
        bool again = false;
        std::vector<reservations::share> written;  // since the last one began
    };
    struct measurements {
        std::map<std::string, measurement> of;  // by sandbox
        event ended;
    };

    void check_class(const caller& who, const new_sandbox& wanted);
    static void check_name(std::string_view name);  // throws sandbox_error (InvalidArgument)
    static void check_user(std::string_view name);  // the same
    void warn_of_default_image() const;
    sandbox_record describe(const caller& who, const new_sandbox& wanted);
    awaitable<sandbox_record> make(sandbox_record record, reservations::share counted);
    awaitable<sandbox_record> copy_into(sandbox_record record, reservations::share counted, sandbox_record from,
                                        reservations::share disk);
    awaitable<snapshot_record> keep_copy(snapshot_record record, sandbox_record of, reservations::share disk);
    awaitable<> put_back(sandbox_record into, std::string snapshot, reservations::share disk);
    awaitable<> insert_or_remove(std::function<void()> insert, std::string owner, std::filesystem::path folder,
                                 std::string taken);
    awaitable<std::uint64_t> copy_or_clear(reservations::share& disk, std::filesystem::path from,
                                           std::filesystem::path to);
    void check_disk(const std::string& owner, std::uint64_t more);
    void check_room(const sandbox_record& into, std::uint64_t more);
    reservations::share reserve_for(const std::string& owner, std::uint64_t bytes);
    bool means_default(const caller& who, const std::string& id_or_name);
    awaitable<> make_default(caller who);
    awaitable<> clear(std::string owner, std::filesystem::path what);  // in one step for all others
    awaitable<> erase(std::string owner, std::filesystem::path what);
    awaitable<> destroy(sandbox_record gone);
    awaitable<> stop_all(sandbox_record stopped);
    std::optional<sandbox_record> longest_unused(const std::map<std::string, sandbox::cell_state>& live,
                                                 const sandbox::cell_name& name, bool own_alone);
    std::uint64_t memory_held(const std::map<std::string, sandbox::cell_state>& live, const std::string& owner);
    std::size_t idle_in(const std::string& id) const;  // processes that only wait for the next call
    awaitable<std::vector<std::string>> keep_all(std::string id, std::string why);
    awaitable<std::vector<std::string>> stop_now(sandbox_record stopped, sandbox_error why, const char* status);
    awaitable<> end_with_session(sandbox_record left);
    awaitable<> measure(sandbox_record of);
    awaitable<> look_for_packages(sandbox_record of);
    awaitable<> look_after();
    void reconcile();
    void remove_stray_snapshots();

    const settings& config_;
    quotas& limits_;
    asio::any_io_executor executor_;
    blocking_pool& pool_;
    handle_maker handles_;
    sandbox_homes homes_;
    sandbox_paths places_;
    sandbox_store store_;
    sandbox_activities activities_;
    sandbox_cells cells_;
    sandbox_network network_;
    tool_rights tools_;
    std::string public_url_;
    image_choice images_;
    image_fetches fetches_;
    std::vector<std::function<awaitable<>(std::string)>> stops_;
    std::vector<std::function<void(const std::string&)>> deleted_;
    std::function<awaitable<>(std::string)> bring_default_{};
    std::function<void(const sandbox_record&)> used_;
    std::function<bool(const std::string&)> comes_up_;
    std::vector<std::string> ran_before_;  // sandboxes whose services ran when the server ended
    std::function<void(const sandbox_record&)> before_use_ = [](const sandbox_record&) {};
    std::vector<std::function<awaitable<std::string>(std::string, std::string)>> keeps_;
    std::vector<std::function<std::size_t(const std::string&)>> idle_;
    struct cell_start {
        std::string owner;
        std::chrono::steady_clock::time_point at;
    };
    std::map<std::string, cell_start> starting_;  // sandboxes whose cell begins with what was admitted
    std::set<std::string> admitted_;              // sandboxes since they were last stopped
    std::uint64_t memory_of_a_caller_ = 0;
    std::set<std::string> giving_way_;  // sandboxes that end for others at this moment
    std::function<bool(const sandbox_record&)> kept_ = [](const sandbox_record&) { return false; };
    reservations disk_reserved_;                        // bytes
    making_turn before_making_;                         // null: others make none
    reservations being_made_;                           // sandboxes
    std::function<void(const label_map&)> has_labels_;  // null: this server is alone
    std::shared_ptr<measurements> measuring_ = std::make_shared<measurements>();
    task_group tasks_;
    sandbox_leases leases_;
};

}  // namespace cmcp
