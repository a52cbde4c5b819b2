#include "sandboxes/sandbox_files.hpp"

#include "config/settings.hpp"
#include "files/file_error.hpp"

#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace cmcp {

sandbox_files::sandbox_files(const settings& config, sandbox_manager& sandboxes, blocking_pool& pool)
    : config_(config), sandboxes_(sandboxes), pool_(pool)
{
}

std::string sandbox_files::relative(std::string_view field, const std::string& named) const
{
    const std::string& home = config_.sandbox_work_dir;
    const std::string path(without_file_scheme(named));
    std::string inside = path;
    if (below_home(path) != path)
        inside = below_home(path);
    else if (path == home || path.starts_with(home + "/"))
        inside = path.substr(home.size());
    else if (path.starts_with('/'))
        throw sandbox_error("InvalidArgument",
                            std::string(field) + " must be relative to " + home + " or begin with it.");
    while (inside.starts_with('/')) inside.erase(0, 1);
    return inside.empty() ? "." : inside;
}

std::string sandbox_files::path_in(const sandbox_record& where, std::string_view field, const std::string& named) const
{
    const std::string path(without_file_scheme(named));
    const bool is_home = path == home() || path.starts_with(home() + "/");
    return where.is_default() && !is_home && path.starts_with('/') ? path : relative(field, path);
}

std::string sandbox_files::local_path(const std::string& named) const
{
    const auto& folder = config_.sandbox_upload_folder;
    std::error_code absent;
    if (folder.empty() || !std::filesystem::is_directory(folder, absent))
        throw sandbox_error(
            "InvalidArgument",
            "local_file_path is not available: SANDBOX_UPLOAD_FOLDER (" + folder.string() +
                ") is no folder on the server. Send the bytes as base64 in content, or POST them to /sandbox/file.");
    const std::string root = std::filesystem::absolute(folder).lexically_normal().string();
    const std::string prefix = root.ends_with('/') ? root : root + "/";
    if (named.starts_with(prefix)) return named.substr(prefix.size());
    if (!named.starts_with('/')) return named;
    throw sandbox_error("InvalidArgument",
                        "local_file_path must be a file in the server's folder " + root + " (SANDBOX_UPLOAD_FOLDER).");
}

awaitable<stored_file> sandbox_files::put(sandbox_record where, std::string path, std::string bytes)
{
    const auto use = sandboxes_.enter(where);
    co_await sandboxes_.check_beside_others(where, bytes.size());
    auto disk = sandboxes_.reserve(where, bytes.size());
    const std::string inside = relative("dest_path", path);
    auto work = [folder = sandboxes_.places().files(where), inside, bytes = std::move(bytes)] {
        const file_root workspace(folder);
        const file_path to("dest_path", inside);
        if (names_folder(workspace, inside)) to.refuse("is a folder; add the name of the file that content becomes");
        auto file = std::make_shared<incoming_file>(workspace, to);
        file->append(bytes);
        return written_file{to.display(), std::move(file)};
    };
    auto written = co_await pool_.run(where.owner, std::move(work));
    auto stored = co_await publish(std::move(where), std::move(written), std::move(disk));
    co_return stored;
}

// A run may fill the sandbox while the file is written, so the quota is checked again before the file has its name.
awaitable<stored_file> sandbox_files::publish(sandbox_record where, written_file written, reservations::share disk)
{
    disk.resize(written.file->unseen());
    co_await sandboxes_.check_beside_others(where, written.file->size());
    auto work = [file = written.file] { file->publish(); };
    co_await pool_.run(where.owner, std::move(work));
    sandboxes_.measure_soon(where, std::move(disk));
    co_return stored_file{std::move(written.path), written.file->size()};
}

awaitable<stored_file> sandbox_files::copy_in(sandbox_record where, std::string path, std::string local)
{
    const auto use = sandboxes_.enter(where);
    const std::string source = local_path(local);
    const std::string inside = relative("dest_path", path);
    auto look = [folder = config_.sandbox_upload_folder, source] {
        const file_path from("local_file_path", source);
        return std::make_shared<unique_fd>(file_root(folder).open_regular(from));
    };
    const auto from = co_await pool_.run(where.owner, std::move(look));
    struct stat status {};
    ::fstat(from->get(), &status);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    co_await sandboxes_.check_beside_others(where, size);
    auto disk = sandboxes_.reserve(where, size);
    const auto folder = sandboxes_.places().files(where);
    auto work = copy_local_file(from, size, folder, inside, source);
    auto written = co_await pool_.run_long(where.owner, std::move(work));
    auto stored = co_await publish(std::move(where), std::move(written), std::move(disk));
    co_return stored;
}

awaitable<std::unique_ptr<file_download>> sandbox_files::download(sandbox_record where, std::string path)
{
    auto use = sandboxes_.enter(where);
    const std::string inside = path_in(where, "file_path", path);
    auto work = [workspace = sandboxes_.places().files(where), inside] {
        return file_download::open(workspace, inside);
    };
    auto file = co_await pool_.run(where.owner, std::move(work));
    co_return std::make_unique<file_download>(pool_, where.owner, std::move(use), std::move(file), inside);
}

awaitable<file_page> sandbox_files::list(sandbox_record where, file_list_request what)
{
    const auto use = sandboxes_.enter(where);
    what.path = path_in(where, "path", what.path);
    auto work = list_folder([workspace = sandboxes_.places().files(where)] { return workspace; }, std::move(what));
    auto page = co_await pool_.run_long(where.owner, std::move(work));
    co_return page;
}

awaitable<std::unique_ptr<file_download>> sandbox_files::open(std::string principal, std::string sandbox,
                                                              std::string path)
{
    caller who;
    who.principal = std::move(principal);
    auto where = co_await sandboxes_.use(who, sandbox);
    auto file = co_await download(std::move(where), std::move(path));
    co_return file;
}

awaitable<std::unique_ptr<file_upload>> sandbox_files::begin(std::string principal, std::string sandbox,
                                                             std::string path, std::optional<std::uint64_t> announced)
{
    caller who;
    who.principal = std::move(principal);
    auto where = co_await sandboxes_.use(who, sandbox);
    auto use = sandboxes_.enter(where);
    co_await sandboxes_.check_beside_others(where, announced.value_or(0));
    auto disk = sandboxes_.reserve(where, announced.value_or(0));
    const std::string inside = relative("file_path", path);
    auto work = [workspace = sandboxes_.places().files(where), inside] {
        return std::make_shared<incoming_file>(file_root(workspace), file_path("file_path", inside));
    };
    auto file = co_await pool_.run(where.owner, std::move(work));
    co_return std::make_unique<file_upload>(sandboxes_, pool_, std::move(use), std::move(disk), std::move(file),
                                            std::move(where), inside);
}

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
