#pragma once

#include "async/event.hpp"
#include "files/workspaces.hpp"
#include "sandboxes/sandbox_activities.hpp"
#include "sandboxes/sandbox_paths.hpp"
#include "sealing/sealing.hpp"
#include "store/sandbox_store.hpp"
#include "vault/stored_state.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct sandbox_settings;

/// The folder with a caller's `workspace`, and beside it `kept.json` and, where it was used since it was kept, `used`.
/// Long outputs (`.outputs`) stay with their server. All calls block on the disk and throw std::system_error.
struct workspace_location {
    std::filesystem::path folder;
    std::string handle;

    std::filesystem::path workspace() const { return folder / "workspace"; }
    void make() const;
    void mark_used() const;
    void unmark() const;
    bool is_marked() const;

    /// The files that are here go to `aside`.
    void set_aside(const sandbox_paths& aside) const;

    /// `fresh` becomes the workspace; another one that is here goes to `aside`.
    void put(const std::filesystem::path& fresh, const sandbox_paths& aside) const;
};

/// The workspaces of callers that are at this server, as the vault sees them: with records like those of sandboxes,
/// under handles that each server makes of the caller's name in the same way. Io thread only.
class stored_workspaces {
public:
    /// `config` and `places` must outlive this.
    stored_workspaces(const sandbox_settings& config, const workspaces& places, const snapshots::chunk_sealer& names);

    static bool has(std::string_view handle);
    static std::string noun_of(std::string_view handle);  ///< for sentences and the log: "workspace", else "sandbox"

    /// `wsp_home_<32 hexadecimal digits>`, of which nobody without SNAPSHOT_KEY learns the name.
    std::string handle_of(const std::string& principal);
    const std::string* principal_of(const std::string& handle) const;  ///< null: nobody has named it yet
    workspace_location place_of(const std::string& handle) const;      ///< of one whose principal is known

    std::vector<sandbox_record> all() const;
    std::optional<sandbox_record> find(const std::string& handle) const;
    bool is_busy(const std::string& handle) const;

    void add(const std::string& handle, double used);        ///< from now on it is here; `used`: the last time
    void note_kept(const std::string& handle, double used);  ///< all that was done until then is kept

    /// A call begins. Throws sandbox_error, std::system_error.
    std::shared_ptr<workspace_use> enter(const std::string& handle);
    void tell_next(const std::string& handle, std::string sentence);  ///< in the result of the next run
    awaitable<> end_calls(sandbox_error why);                         ///< in all of them
    awaitable<> give_up(std::string handle);                          ///< ends its calls; from now on it is not here

    /// Those that were kept by an earlier life of this server. Blocks on the disk.
    std::vector<stored_state> read_all() const;

    /// Callers with files of which nothing was ever kept. Blocks on the disk.
    std::vector<std::string> never_kept() const;

private:
    class use_here;
    struct workspace {
        std::string principal;
        double used = 0;
        bool marked = false;
    };
    struct state {
        std::map<std::string, workspace> here;      // by handle
        std::map<std::string, std::string> untold;  // sentences for results, by handle
        sandbox_activities calls;
    };

    sandbox_record record_of(const std::string& handle, const workspace& of) const;

    const sandbox_settings& config_;
    const workspaces& places_;
    snapshots::chunk_sealer names_;
    std::map<std::string, std::string> principals_;  // by handle
    std::shared_ptr<state> state_;                   // calls keep it as well
};

}  // namespace cmcp
