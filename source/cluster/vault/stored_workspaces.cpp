#include "vault/stored_workspaces.hpp"

#include "config/sandbox_settings.hpp"
#include "posix/unique_fd.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "text/handles.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace cmcp {

namespace fs = std::filesystem;

namespace {

constexpr const char* used_mark = "used";
constexpr std::size_t handle_digits = 32;

// Nothing where there is none.
void move_if_there(const fs::path& from, const fs::path& to)
{
    if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT)
        throw std::system_error(errno, std::generic_category(), to.string());
}

caller caller_named(std::string principal)
{
    caller who;
    who.principal = std::move(principal);
    return who;
}

}  // namespace

void workspace_location::make() const
{
    fs::create_directories(folder.parent_path());
    make_private_folder(folder);
    make_private_folder(workspace());
}

void workspace_location::mark_used() const
{
    make();
    const unique_fd mark(::open((folder / used_mark).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!mark) throw std::system_error(errno, std::generic_category(), (folder / used_mark).string());
}

void workspace_location::unmark() const { ::unlink((folder / used_mark).c_str()); }

bool workspace_location::is_marked() const { return ::access((folder / used_mark).c_str(), F_OK) == 0; }

void workspace_location::set_aside(const sandbox_paths& aside) const
{
    if (workspaces::has_files(workspace())) {
        const auto moved = aside.make_aside(handle) / "workspace";
        move_if_there(workspace(), moved);
        make();
        move_if_there(moved / workspaces::outputs_folder, workspace() / workspaces::outputs_folder);
    }
    ::unlink((folder / stored_state::file_name).c_str());
    unmark();
}

void workspace_location::put(const fs::path& fresh, const sandbox_paths& aside) const
{
    make();
    set_aside(aside);
    move_if_there(workspace() / workspaces::outputs_folder, fresh / workspaces::outputs_folder);
    fs::rename(fresh, workspace());
}

/// A call in a workspace. The workspace counts as used until its end.
class stored_workspaces::use_here final : public workspace_use {
public:
    use_here(std::shared_ptr<state> of, std::string handle)
        : of_(std::move(of)), handle_(std::move(handle)), call_(of_->calls.begin(handle_))
    {
        touch();
    }
    ~use_here() override { touch(); }

    std::string take_note() override
    {
        auto note = of_->untold.extract(handle_);
        return note.empty() ? std::string() : std::move(note.mapped());
    }

    awaitable<bool> run(awaitable<bool> work) override { return sandbox_activities::run(call_, std::move(work)); }

private:
    void touch()
    {
        const auto at = of_->here.find(handle_);
        if (at != of_->here.end()) at->second.used = sandbox_manager::now();
    }

    std::shared_ptr<state> of_;
    std::string handle_;
    std::shared_ptr<sandbox_activities::entry> call_;
};

stored_workspaces::stored_workspaces(const sandbox_settings& config, const workspaces& places,
                                     const snapshots::chunk_sealer& names)
    : config_(config), places_(places), names_(names), state_(std::make_shared<state>())
{
}

bool stored_workspaces::has(std::string_view handle)
{
    return handle_maker::fits(handle_maker::workspace_kind, handle);
}

std::string stored_workspaces::noun_of(std::string_view handle) { return has(handle) ? "workspace" : "sandbox"; }

std::string stored_workspaces::handle_of(const std::string& principal)
{
    auto handle = std::string(handle_maker::workspace_kind) + "_home_" +
                  names_.id_of("workspace of " + principal).substr(0, handle_digits);
    principals_.try_emplace(handle, principal);
    return handle;
}

const std::string* stored_workspaces::principal_of(const std::string& handle) const
{
    const auto at = principals_.find(handle);
    return at == principals_.end() ? nullptr : &at->second;
}

workspace_location stored_workspaces::place_of(const std::string& handle) const
{
    return {places_.locate(caller_named(principals_.at(handle))).parent_path(), handle};
}

sandbox_record stored_workspaces::record_of(const std::string& handle, const workspace& of) const
{
    sandbox_record record;
    record.id = handle;
    record.owner = of.principal;
    record.name = "workspace";
    const bool busy = state_->calls.busy(handle);
    const auto now = sandbox_manager::now();
    record.created = record.last_used = busy ? now : of.used;
    const bool is_idle = now - of.used >= std::chrono::duration<double>(config_.sandbox_idle_timeout).count();
    record.status = is_idle && !busy ? "stopped" : "running";
    return record;
}

std::vector<sandbox_record> stored_workspaces::all() const
{
    std::vector<sandbox_record> records;
    for (const auto& [handle, of] : state_->here) records.push_back(record_of(handle, of));
    return records;
}

std::optional<sandbox_record> stored_workspaces::find(const std::string& handle) const
{
    const auto at = state_->here.find(handle);
    return at == state_->here.end() ? std::nullopt : std::optional(record_of(handle, at->second));
}

bool stored_workspaces::is_busy(const std::string& handle) const { return state_->calls.busy(handle); }

void stored_workspaces::add(const std::string& handle, double used)
{
    auto& of = state_->here[handle];
    of.principal = principals_.at(handle);
    of.used = used;
}

// A mark on the disk, because after a crash nobody else knows that more was done than is kept.
void stored_workspaces::note_kept(const std::string& handle, double used)
{
    const auto at = state_->here.find(handle);
    if (at == state_->here.end() || is_busy(handle) || at->second.used > used) return;
    place_of(handle).unmark();
    at->second.marked = false;
}

std::shared_ptr<workspace_use> stored_workspaces::enter(const std::string& handle)
{
    auto use = std::make_shared<use_here>(state_, handle);
    auto& of = state_->here.at(handle);
    if (!of.marked) place_of(handle).mark_used();
    of.marked = true;
    return use;
}

void stored_workspaces::tell_next(const std::string& handle, std::string sentence)
{
    state_->untold[handle] = std::move(sentence);
}

// The calls that were cancelled end in their own time; those that come now are refused by whoever is asked first.
awaitable<> stored_workspaces::end_calls(sandbox_error why)
{
    const auto of = state_;
    const auto busy = of->calls.busy_ids();
    for (const auto& each : busy) of->calls.cancel_all(each, why);
    for (const auto& each : busy) {
        co_await of->calls.quiet(each);
        of->calls.forget(each);
    }
}

awaitable<> stored_workspaces::give_up(std::string handle)
{
    const auto of = state_;
    const sandbox_error why("NodeUnreachable", "The workspace is at another server now. Call again in a moment.");
    of->here.erase(handle);
    of->untold.erase(handle);
    of->calls.cancel_all(handle, why);
    co_await of->calls.quiet(handle);
    of->calls.forget(handle);
}

std::vector<stored_state> stored_workspaces::read_all() const
{
    std::vector<stored_state> all;
    auto nobodys = read_kept(places_.root());
    if (nobodys.epoch != 0) all.push_back(std::move(nobodys));
    std::error_code none;
    for (fs::directory_iterator at(places_.root() / "callers", none), end; !none && at != end; at.increment(none)) {
        auto state = read_kept(at->path());
        const bool is_named = !state.owner.empty() && at->path().filename() == workspaces::safe_name(state.owner);
        if (state.epoch != 0 && is_named) all.push_back(std::move(state));
    }
    return all;
}

std::vector<std::string> stored_workspaces::never_kept() const
{
    std::vector<std::string> names;
    for (auto& each : places_.principals()) {
        const auto folder = places_.locate(caller_named(each)).parent_path();
        if (read_kept(folder).epoch == 0 && places_.is_used(each)) names.push_back(std::move(each));
    }
    return names;
}

}  // namespace cmcp
