#include "sandboxes/sandbox_files.hpp"

#include "config/settings.hpp"
#include "files/file_error.hpp"
#include "files/media_types.hpp"
#include "sandboxes/gateway_refusal.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

namespace cmcp {

namespace {

struct opened_file {
    std::shared_ptr<unique_fd> fd;
    struct stat status {};
};

opened_file open_in(const std::filesystem::path& workspace, const std::string& relative)
{
    const file_path path("file_path", relative);
    opened_file file;
    file.fd = std::make_shared<unique_fd>(file_root(workspace).open_regular(path));
    if (::fstat(file.fd->get(), &file.status) != 0) path.fail(errno);
    return file;
}

class download_of_sandbox final : public file_download {
public:
    download_of_sandbox(blocking_pool& pool, std::string owner, std::shared_ptr<sandbox_activities::entry> use,
                        opened_file file, const std::string& path)
        : pool_(pool),
          owner_(std::move(owner)),
          use_(std::move(use)),
          file_(std::move(file)),
          name_(path.substr(path.rfind('/') + 1))
    {
    }
    const std::string& name() const override { return name_; }
    std::string media_type() const override { return std::string(media_type_of(name_, "application/octet-stream")); }
    std::uint64_t size() const override { return static_cast<std::uint64_t>(file_.status.st_size); }
    double modified() const override { return modified_of(file_.status); }
    std::string tag() const override
    {
        const auto& time = file_.status.st_mtim;
        return std::to_string(file_.status.st_ino) + "-" + std::to_string(file_.status.st_size) + "-" +
               std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
    }
    awaitable<std::string> read(std::uint64_t offset, std::size_t most) override
    {
        auto work = [fd = file_.fd, offset, most] { return read_piece(fd->get(), offset, most); };
        auto bytes = co_await pool_.run(owner_, std::move(work));
        co_return bytes;
    }

private:
    blocking_pool& pool_;
    std::string owner_;
    std::shared_ptr<sandbox_activities::entry> use_;
    opened_file file_;
    std::string name_;
};

// Between looks at what runs have written beside an upload.
constexpr std::chrono::seconds look_every(2);

class upload_to_sandbox final : public file_upload {
public:
    upload_to_sandbox(sandbox_manager& sandboxes, blocking_pool& pool, std::shared_ptr<sandbox_activities::entry> use,
                      disk_reservations::share disk, std::shared_ptr<incoming_file> file, sandbox_record where,
                      std::string path)
        : sandboxes_(sandboxes),
          pool_(pool),
          use_(std::move(use)),
          disk_(std::move(disk)),
          file_(std::move(file)),
          where_(std::move(where)),
          path_(std::move(path))
    {
    }

    awaitable<> write(std::string bytes) override
    {
        const auto so_far = file_->size() + bytes.size();
        auto work = [file = file_, bytes = std::move(bytes)] { file->append(bytes); };
        try {
            sandboxes_.extend(disk_, so_far);
            if (due()) co_await sandboxes_.check_beside_others(where_, so_far);
            use_->check();
            co_await pool_.run(where_.owner, std::move(work));
        } catch (const std::runtime_error&) {
            pass_on_as_gateway_error(507, 507);
        }
    }

    awaitable<json::object> finish() override
    {
        try {
            disk_.resize(file_->unseen());
            co_await sandboxes_.check_beside_others(where_, file_->size());
            use_->check();
            auto work = [file = file_] { file->publish(); };
            co_await pool_.run(where_.owner, std::move(work));
        } catch (const std::runtime_error&) {
            pass_on_as_gateway_error(400, 400);
        }
        sandboxes_.measure_soon(where_, std::move(disk_));
        json::object reply;
        reply["success"] = true;
        reply["path"] = path_;
        reply["size"] = file_->size();
        co_return reply;
    }

private:
    using clock = std::chrono::steady_clock;

    // A file with a name is measured with the sandbox already, so it would count twice.
    bool due()
    {
        const auto now = clock::now();
        if (now - looked_ < look_every || file_->unseen() != file_->size()) return false;
        looked_ = now;
        return true;
    }

    sandbox_manager& sandboxes_;
    blocking_pool& pool_;
    std::shared_ptr<sandbox_activities::entry> use_;
    disk_reservations::share disk_;
    std::shared_ptr<incoming_file> file_;
    sandbox_record where_;
    std::string path_;
    clock::time_point looked_ = clock::now();
};

}  // namespace

sandbox_files::sandbox_files(const settings& config, sandbox_manager& sandboxes, blocking_pool& pool)
    : config_(config), sandboxes_(sandboxes), pool_(pool)
{
}

std::string sandbox_files::relative(std::string_view field, const std::string& path) const
{
    const std::string& home = config_.sandbox_work_dir;
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
awaitable<stored_file> sandbox_files::publish(sandbox_record where, written_file written, disk_reservations::share disk)
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
    const std::string inside = relative("file_path", path);
    auto work = [workspace = sandboxes_.places().files(where), inside] { return open_in(workspace, inside); };
    auto file = co_await pool_.run(where.owner, std::move(work));
    co_return std::make_unique<download_of_sandbox>(pool_, where.owner, std::move(use), std::move(file), inside);
}

awaitable<file_page> sandbox_files::list(sandbox_record where, file_list_request what)
{
    const auto use = sandboxes_.enter(where);
    what.path = relative("path", what.path);
    auto work = list_folder([workspace = sandboxes_.places().files(where)] { return workspace; }, std::move(what));
    auto page = co_await pool_.run_long(where.owner, std::move(work));
    co_return page;
}

awaitable<std::unique_ptr<file_download>> sandbox_files::open(std::string principal, std::string sandbox,
                                                              std::string path)
{
    caller who;
    who.principal = std::move(principal);
    try {
        auto where = co_await sandboxes_.use(who, sandbox);
        auto file = co_await download(std::move(where), std::move(path));
        co_return file;
    } catch (const std::runtime_error&) {
        pass_on_as_gateway_error(400, 404);
    }
}

awaitable<std::unique_ptr<file_upload>> sandbox_files::begin(std::string principal, std::string sandbox,
                                                             std::string path, std::optional<std::uint64_t> announced)
{
    caller who;
    who.principal = std::move(principal);
    try {
        auto where = co_await sandboxes_.use(who, sandbox);
        auto use = sandboxes_.enter(where);
        co_await sandboxes_.check_beside_others(where, announced.value_or(0));
        auto disk = sandboxes_.reserve(where, announced.value_or(0));
        const std::string inside = relative("file_path", path);
        auto work = [workspace = sandboxes_.places().files(where), inside] {
            return std::make_shared<incoming_file>(file_root(workspace), file_path("file_path", inside));
        };
        auto file = co_await pool_.run(where.owner, std::move(work));
        co_return std::make_unique<upload_to_sandbox>(sandboxes_, pool_, std::move(use), std::move(disk),
                                                      std::move(file), std::move(where), inside);
    } catch (const std::runtime_error&) {
        pass_on_as_gateway_error(400, 400);
    }
}

}  // namespace cmcp
