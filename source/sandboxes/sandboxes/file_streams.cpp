#include "sandboxes/file_streams.hpp"

#include "files/file_error.hpp"
#include "files/media_types.hpp"
#include "http/http_refusal.hpp"

#include <cerrno>
#include <utility>

namespace cmcp {

file_download::opened file_download::open(const std::filesystem::path& folder, const std::string& relative)
{
    const file_path path("file_path", relative);
    opened file;
    file.fd = std::make_shared<unique_fd>(file_root(folder).open_regular(path));
    if (::fstat(file.fd->get(), &file.status) != 0) path.fail(errno);
    return file;
}

file_download::file_download(blocking_pool& pool, std::string owner, std::shared_ptr<sandbox_activities::entry> use,
                             opened file, const std::string& path)
    : pool_(pool),
      owner_(std::move(owner)),
      use_(std::move(use)),
      file_(std::move(file)),
      name_(path.substr(path.rfind('/') + 1))
{
}

std::string file_download::media_type() const { return std::string(media_type_of(name_, "application/octet-stream")); }

std::string file_download::tag() const
{
    const auto& time = file_.status.st_mtim;
    return std::to_string(file_.status.st_ino) + "-" + std::to_string(file_.status.st_size) + "-" +
           std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
}

awaitable<std::string> file_download::read(std::uint64_t offset, std::size_t most)
{
    auto work = [fd = file_.fd, offset, most] { return read_piece(fd->get(), offset, most); };
    auto bytes = co_await pool_.run(owner_, std::move(work));
    co_return bytes;
}

file_upload::file_upload(sandbox_manager& sandboxes, blocking_pool& pool,
                         std::shared_ptr<sandbox_activities::entry> use, reservations::share disk,
                         std::shared_ptr<incoming_file> file, sandbox_record where, std::string path)
    : sandboxes_(sandboxes),
      pool_(pool),
      use_(std::move(use)),
      disk_(std::move(disk)),
      file_(std::move(file)),
      where_(std::move(where)),
      path_(std::move(path))
{
}

awaitable<> file_upload::write(std::string bytes)
{
    const auto so_far = file_->size() + bytes.size();
    auto work = [file = file_, bytes = std::move(bytes)] { file->append(bytes); };
    sandboxes_.extend(disk_, so_far);
    try {
        if (is_look_due()) co_await sandboxes_.check_beside_others(where_, so_far);
        use_->check();
        co_await pool_.run(where_.owner, std::move(work));
    } catch (const file_error& full) {
        throw http_refusal(507, full.what());
    }
}

awaitable<json::object> file_upload::finish()
{
    disk_.resize(file_->unseen());
    co_await sandboxes_.check_beside_others(where_, file_->size());
    use_->check();
    auto work = [file = file_] { file->publish(); };
    co_await pool_.run(where_.owner, std::move(work));
    sandboxes_.measure_soon(where_, std::move(disk_));
    json::object reply;
    reply["success"] = true;
    reply["path"] = path_;
    reply["size"] = file_->size();
    co_return reply;
}

// A file with a name is measured with the sandbox already, so it would count twice.
bool file_upload::is_look_due()
{
    constexpr std::chrono::seconds look_every(2);  // at what runs have written beside an upload
    const auto now = clock::now();
    if (now - looked_ < look_every || file_->unseen() != file_->size()) return false;
    looked_ = now;
    return true;
}

}  // namespace cmcp
