#include "files/file_manager.hpp"

namespace cmcp {

// Work on the pool owns its arguments and finds the folder there, too, because the call may be abandoned meanwhile.

file_manager::file_manager(blocking_pool& pool, const workspaces& places, file_policy policy,
                           std::uint64_t workspace_size)
    : pool_(&pool), places_(&places), policy_(std::move(policy)), quota_(pool, workspace_size)
{
}

awaitable<file_content> file_manager::read(caller who, file_read_request request)
{
    auto work = [who, request, places = places_, policy = policy_] {
        return read_file(file_root(places->folder(who)), policy, request);
    };
    co_return co_await pool_->run(who.principal, std::move(work));
}

awaitable<> file_manager::write(caller who, file_write_request request)
{
    disk_reservations::share disk;
    if (quota_.limited()) {
        auto find = [who, places = places_] { return places->folder(who); };
        auto workspace = co_await pool_->run(who.principal, std::move(find));
        disk = co_await quota_.reserve(who.principal, std::move(workspace), request.content.size());
    }
    auto work = [who, request = std::move(request), places = places_, policy = policy_] {
        write_file(file_root(places->folder(who)), policy, request);
        return true;
    };
    co_await pool_->run(who.principal, std::move(work));
    quota_.written(std::move(disk));
}

awaitable<file_page> file_manager::list(caller who, file_list_request request)
{
    auto work = [who, request, places = places_] { return list_folder(file_root(places->folder(who)), request); };
    co_return co_await pool_->run(who.principal, std::move(work));
}

awaitable<> file_manager::remove(caller who, std::string path)
{
    auto work = [who, path, places = places_, policy = policy_] {
        const file_path parsed("path", path);
        delete_file(file_root(places->folder(who)), policy, parsed);
        return true;
    };
    co_await pool_->run(who.principal, std::move(work));
}

awaitable<> file_manager::move(caller who, file_move_request request)
{
    auto work = [who, request, places = places_, policy = policy_] {
        move_file(file_root(places->folder(who)), policy, request);
        return true;
    };
    co_await pool_->run(who.principal, std::move(work));
}

}  // namespace cmcp
