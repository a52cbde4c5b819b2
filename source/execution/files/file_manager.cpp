#include "files/file_manager.hpp"

#include "files/incoming_file.hpp"
#include "text/handles.hpp"

#include <string_view>

namespace cmcp {

namespace {

// The rest of a long result, which stays at its server.
bool is_kept_output(std::string_view path)
{
    path.remove_prefix(path.rfind('/') + 1);
    return handle_maker::fits("out", path.substr(0, path.find('.')));
}

}  // namespace

// Work on the pool owns its arguments and finds the folder there, too, because the call may be abandoned meanwhile.

file_manager::file_manager(blocking_pool& pool, const workspaces& places, file_policy policy,
                           limit_of_principal workspace_size)
    : pool_(&pool), places_(&places), policy_(std::move(policy)), quota_(pool, std::move(workspace_size))
{
}

awaitable<std::filesystem::path> file_manager::workspace(caller who)
{
    auto find = [who, places = places_] { return places->folder(who); };
    auto folder = co_await pool_->run(who.principal, std::move(find));
    co_return folder;
}

awaitable<std::shared_ptr<workspace_use>> file_manager::enter(caller who, std::string path)
{
    std::shared_ptr<workspace_use> use;
    if (!is_kept_output(path)) use = co_await places_->enter(std::move(who));
    co_return use;
}

awaitable<file_content> file_manager::read(caller who, file_read_request request)
{
    const auto use = co_await enter(who, request.path);
    auto work = [who, request, places = places_, policy = policy_] {
        return read_file(file_root(places->folder(who)), policy, request);
    };
    co_return co_await pool_->run(who.principal, std::move(work));
}

awaitable<json::object> file_manager::read(caller who, file_read_request request,
                                           std::function<json::object(file_content)> describe)
{
    const auto use = co_await enter(who, request.path);
    auto work = [who, request, places = places_, policy = policy_, describe = std::move(describe)] {
        return describe(read_file(file_root(places->folder(who)), policy, request));
    };
    co_return co_await pool_->run(who.principal, std::move(work));
}

awaitable<std::string> file_manager::bytes(caller who, std::string path)
{
    const auto use = co_await enter(who, path);
    auto work = [who, path, places = places_, policy = policy_] {
        return read_bytes(file_root(places->folder(who)), policy, file_path("path", path));
    };
    co_return co_await pool_->run(who.principal, std::move(work));
}

awaitable<> file_manager::write(caller who, file_write_request request)
{
    const auto use = co_await enter(who, request.path);
    if (quota_.limits(who.principal)) co_return co_await write_within_quota(std::move(who), std::move(request));
    auto work = [who, request = std::move(request), places = places_, policy = policy_] {
        write_file(file_root(places->folder(who)), policy, request);
    };
    co_await pool_->run(who.principal, std::move(work));
}

// A run may fill the workspace while the file is written, so the quota is checked again before the file has its name.
awaitable<> file_manager::write_within_quota(caller who, file_write_request request)
{
    auto workspace = co_await this->workspace(who);
    const auto turn = co_await quota_.begin(who.principal, workspace);
    co_await quota_.check(turn, request.content.size());
    auto prepare = [workspace, request = std::move(request), policy = policy_] {
        return prepare_file(file_root(workspace), policy, request);
    };
    auto file = co_await pool_->run(who.principal, std::move(prepare));
    co_await quota_.check(turn, file->unseen());
    const auto size = file->size();
    auto publish = [file = std::move(file)] { file->publish(); };
    co_await pool_->run(who.principal, std::move(publish));
    quota_.written(turn, size);
}

// Edits of one workspace come after each other, so that none of them meets a file that another one has just changed.
awaitable<edited_file> file_manager::edit(caller who, file_edit_request request)
{
    const auto use = co_await enter(who, request.path);
    auto workspace = co_await this->workspace(who);
    const auto turn = co_await quota_.begin(who.principal, workspace);
    auto prepare = prepare_edit([workspace] { return workspace; }, policy_, std::move(request));
    auto edited = co_await pool_->run_long(who.principal, std::move(prepare));
    if (quota_.limits(who.principal)) co_await quota_.check(turn, edited.file->unseen());
    auto publish = [edited] { edited.publish(); };
    co_await pool_->run(who.principal, std::move(publish));
    quota_.written(turn, edited.file->size());
    co_return edited;
}

awaitable<file_page> file_manager::list(caller who, file_list_request request)
{
    const auto use = co_await enter(who, request.path);
    auto find = [who, places = places_] { return places->folder(who); };
    auto work = list_folder(std::move(find), std::move(request));
    auto page = co_await pool_->run_long(who.principal, std::move(work));
    co_return page;
}

awaitable<json::array> file_manager::list_here(caller who, file_list_request request,
                                               std::function<json::array(file_page)> describe)
{
    auto find = [who, places = places_] { return places->folder(who); };
    auto work = then(list_folder(std::move(find), std::move(request)), std::move(describe));
    auto rows = co_await pool_->run_long(who.principal, std::move(work));
    co_return rows;
}

awaitable<> file_manager::remove(caller who, std::string path)
{
    const auto use = co_await enter(who, path);
    auto work = [who, path, places = places_, policy = policy_] {
        const file_path parsed("path", path);
        delete_file(file_root(places->folder(who)), policy, parsed);
        return true;
    };
    co_await pool_->run(who.principal, std::move(work));
}

awaitable<> file_manager::move(caller who, file_move_request request)
{
    const auto use = co_await enter(who, request.source);
    auto work = [who, request, places = places_, policy = policy_] {
        move_file(file_root(places->folder(who)), policy, request);
        return true;
    };
    co_await pool_->run(who.principal, std::move(work));
}

}  // namespace cmcp
