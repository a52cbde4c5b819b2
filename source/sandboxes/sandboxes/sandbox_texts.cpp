#include "sandboxes/sandbox_files.hpp"

#include "config/settings.hpp"

#include <utility>

namespace cmcp {

// The file tools in a sandbox.

const std::string& sandbox_files::home() const { return config_.sandbox_work_dir; }

file_policy sandbox_files::any_extension() const { return {config_.file_max_size, {"*"}}; }

awaitable<file_content> sandbox_files::read(sandbox_record where, file_read_request what, file_policy policy)
{
    const auto use = sandboxes_.enter(where);
    what.path = path_in(where, "path", what.path);
    auto work = [workspace = sandboxes_.places().files(where), what, policy = std::move(policy)] {
        return read_file(file_root(workspace), policy, what);
    };
    auto content = co_await pool_.run(where.owner, std::move(work));
    co_return content;
}

awaitable<> sandbox_files::write(sandbox_record where, file_write_request what, file_policy policy)
{
    const auto use = sandboxes_.enter(where);
    co_await sandboxes_.check_beside_others(where, what.content.size());
    auto disk = sandboxes_.reserve(where, what.content.size());
    what.path = path_in(where, "path", what.path);
    auto work = [folder = sandboxes_.places().files(where), what = std::move(what), policy = std::move(policy)] {
        return written_file{what.path, prepare_file(file_root(folder), policy, what)};
    };
    auto written = co_await pool_.run(where.owner, std::move(work));
    co_await publish(std::move(where), std::move(written), std::move(disk));
}

// Edits of one sandbox come after each other, so that none of them meets a file that another one has just changed.
awaitable<edited_file> sandbox_files::edit(sandbox_record where, file_edit_request what, file_policy policy)
{
    const auto use = sandboxes_.enter(where);
    what.path = path_in(where, "path", what.path);
    const auto workspace = sandboxes_.places().files(where);
    const auto turn = co_await edits_.take(where.id);
    auto prepare = prepare_edit([place = workspace] { return place; }, std::move(policy), std::move(what));
    auto edited = co_await pool_.run_long(where.owner, std::move(prepare));
    auto disk = sandboxes_.reserve(where, edited.file->unseen());
    co_await sandboxes_.check_beside_others(where, edited.file->size());
    use->check();
    auto publish = [edited] { edited.publish(); };
    co_await pool_.run(where.owner, std::move(publish));
    sandboxes_.measure_soon(where, std::move(disk));
    co_return edited;
}

awaitable<> sandbox_files::remove(sandbox_record where, std::string path, file_policy policy)
{
    const auto use = sandboxes_.enter(where);
    const std::string inside = path_in(where, "path", path);
    auto work = [workspace = sandboxes_.places().files(where), inside, policy = std::move(policy)] {
        delete_file(file_root(workspace), policy, file_path("path", inside));
        return true;
    };
    co_await pool_.run(where.owner, std::move(work));
    sandboxes_.measure_soon(where);
}

awaitable<> sandbox_files::move(sandbox_record where, file_move_request what, file_policy policy)
{
    const auto use = sandboxes_.enter(where);
    what.source = path_in(where, "source", what.source);
    what.destination = path_in(where, "destination", what.destination);
    auto work = [workspace = sandboxes_.places().files(where), what, policy = std::move(policy)] {
        move_file(file_root(workspace), policy, what);
        return true;
    };
    co_await pool_.run(where.owner, std::move(work));
    sandboxes_.measure_soon(where);
}

}  // namespace cmcp
