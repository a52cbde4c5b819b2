#include "files/file_error.hpp"
#include "sandboxes/sandbox_files.hpp"

namespace cmcp {

// The file tools in a sandbox, which has no rule for extensions.

file_policy sandbox_files::policy() const { return {config_.file_max_size, {"*"}}; }

awaitable<file_content> sandbox_files::read(sandbox_record where, file_read_request what)
{
    const auto use = sandboxes_.enter(where);
    what.path = relative("path", what.path);
    auto work = [workspace = sandboxes_.places().workspace(where.id), what, policy = policy()] {
        return read_file(file_root(workspace), policy, what);
    };
    auto content = co_await pool_.run(where.owner, std::move(work));
    co_return content;
}

awaitable<> sandbox_files::write(sandbox_record where, file_write_request what)
{
    const auto use = sandboxes_.enter(where);
    co_await sandboxes_.check_beside_others(where, what.content.size());
    auto disk = sandboxes_.reserve(where.owner, what.content.size());
    what.path = relative("path", what.path);
    auto work = [folder = sandboxes_.places().workspace(where.id), what = std::move(what), policy = policy()] {
        return written_file{what.path, prepare_file(file_root(folder), policy, what)};
    };
    auto written = co_await pool_.run(where.owner, std::move(work));
    co_await publish(std::move(where), std::move(written), std::move(disk));
}

awaitable<edited_file> sandbox_files::edit_once(sandbox_record where, file_edit_request what)
{
    auto prepare = [workspace = sandboxes_.places().workspace(where.id), what = std::move(what), policy = policy()] {
        return prepare_edit(file_root(workspace), policy, what);
    };
    auto edited = co_await pool_.run(where.owner, std::move(prepare));
    auto disk = sandboxes_.reserve(where.owner, edited.file->unseen());
    co_await sandboxes_.check_beside_others(where, edited.file->size());
    auto publish = [edited] { edited.publish(); };
    co_await pool_.run(where.owner, std::move(publish));
    sandboxes_.measure_soon(where, std::move(disk));
    co_return edited;
}

// Calls that edit the same file at the same time are applied one after the other: each to what the one before it made.
awaitable<edited_file> sandbox_files::edit(sandbox_record where, file_edit_request what)
{
    constexpr int most_tries = 8;
    const auto use = sandboxes_.enter(where);
    what.path = relative("path", what.path);
    for (int left = most_tries; left > 1; --left) {
        try {
            use->check();
            auto edited = co_await edit_once(where, what);
            co_return edited;
        } catch (const file_changed&) {
        }
    }
    auto edited = co_await edit_once(std::move(where), std::move(what));
    co_return edited;
}

}  // namespace cmcp
