#include "packages/package_runs.hpp"

#include "files/file_root.hpp"
#include "files/folder_reader.hpp"
#include "packages/package_door.hpp"
#include "posix/bytes.hpp"
#include "runs/python_run.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace cmcp {

// The Python program that fetches packages: it serves HTTP on a port of the run's own loopback, passes each address
// that is asked for on through its descriptor 3 (package_door.hpp), and starts the command of its arguments with that
// port as its proxy. A command that ends well leaves packages.tar.
extern const std::string_view package_fetcher;

// The Python program that installs packages in a sandbox: "fetched" with the archive on descriptor 3, or "there"; then
// the words of pip, or the command of npm. {"before": {name: version}, "after": {…}} goes to descriptor 4.
extern const std::string_view package_installer;

namespace {

constexpr const char* archive_name = "packages.tar";
constexpr std::size_t archive_piece = 256 << 10;

/// A folder for what is fetched, removed at the end.
class passing_folder {
public:
    passing_folder(sandbox_manager& sandboxes, std::string owner)
        : sandboxes_(sandboxes), owner_(std::move(owner)), path_(sandboxes.places().make_passing())
    {
    }
    passing_folder(const passing_folder&) = delete;
    passing_folder& operator=(const passing_folder&) = delete;
    ~passing_folder() { sandboxes_.remove_soon(owner_, path_); }
    const std::filesystem::path& path() const { return path_; }

private:
    sandbox_manager& sandboxes_;
    std::string owner_;
    std::filesystem::path path_;
};

bool worked(const sandbox::run_result& end) { return end.why == sandbox::cause::exited && end.exit_code == 0; }

// The runs of an installation count as one.
void add_earlier(sandbox::run_result& end, const sandbox::run_result& earlier)
{
    end.wall += earlier.wall;
    end.cpu += earlier.cpu;
    end.peak_memory = std::max(end.peak_memory, earlier.peak_memory);
}

// The run that wrote it could also have put a link or a FIFO in its place.
std::shared_ptr<unique_fd> open_archive(const std::filesystem::path& folder)
{
    const unique_fd root = open_folder(AT_FDCWD, folder.c_str());
    auto archive = std::make_shared<unique_fd>(
        file_root::open_beneath(root.get(), archive_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (*archive && (::fstat(archive->get(), &status) != 0 || !S_ISREG(status.st_mode))) archive->reset();
    return archive;
}

// An archive that cannot be read is cut off, which the installer tells. The installer ends with the channel, so that
// stays open until the installation is over.
awaitable<> hand_over(blocking_pool& pool, std::string owner, std::filesystem::path folder, unique_fd channel)
{
    auto open = [folder = std::move(folder)] { return open_archive(folder); };
    const auto archive = co_await pool.run(owner, std::move(open));
    const auto executor = co_await asio::this_coro::executor;
    asio::posix::stream_descriptor to(executor, channel.release());
    for (std::uint64_t at = 0; *archive;) {
        auto read = [archive, at] { return read_at(archive->get(), at, archive_piece); };
        const auto piece = co_await pool.run(owner, std::move(read));
        if (!piece) co_return;
        if (piece->empty()) break;
        auto [failure, sent] = co_await asio::async_write(to, asio::buffer(*piece), as_tuple);
        if (failure) co_return;
        at += piece->size();
    }
    if (*archive) co_await to.async_wait(asio::posix::stream_descriptor::wait_read, as_tuple);
}

unique_fd open_channel(sandbox::run_request& request)
{
    auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    return std::move(ours);
}

/// A run, and what talks to it meanwhile.
awaitable<sandbox::run_result> run_beside(sandbox::backend& backend, sandbox::run_request request, awaitable<> other,
                                          output_collector& output)
{
    const auto executor = co_await asio::this_coro::executor;
    task_group beside(executor);
    beside.spawn("packages", std::move(other));
    auto end = co_await backend.run(std::move(request), output);
    co_return end;
}

}  // namespace

std::chrono::milliseconds package_work::left() const
{
    const auto now = std::chrono::steady_clock::now();
    return std::max(std::chrono::milliseconds(1), std::chrono::duration_cast<std::chrono::milliseconds>(end - now));
}

package_runs::package_runs(sandbox::backend& backend, sandbox_runner& runs, blocking_pool& pool, http_client& client)
    : backend_(backend), runs_(runs), pool_(pool), client_(client)
{
}

// Nothing in it is the caller's, not even an environment: only the names of the packages are.
sandbox::run_request package_runs::fetch_request_in(const package_work& of, const std::filesystem::path& folder) const
{
    auto request = runs_.apart(of.where);  // nothing of the sandbox's is beside it
    request.workspace = folder.string();
    request.environment = {
        {"PIP_CONFIG_FILE", "/dev/null"}, {"LANG", "C.UTF-8"}, {"PATH", runs_.search_path(of.where)}};
    request.argv = python_arguments(python_home::none, runs_.interpreter(of.where), std::string(package_fetcher),
                                    fetching_command(of.order, *of.index));
    request.limits.wall = of.left();
    request.label = of.options.request_id;
    return request;
}

sandbox::run_request package_runs::install_request(const package_work& of, bool fetched) const
{
    auto request = runs_.apart(of.where);  // nothing of the sandbox's is beside it
    std::vector<std::string> words = installing_words(of.order, *of.index);
    words.insert(words.begin(), fetched ? "fetched" : "there");
    request.argv = python_arguments(python_home::none, runs_.interpreter(of.where), std::string(package_installer),
                                    std::move(words));
    request.environment.emplace_back("PIP_BREAK_SYSTEM_PACKAGES", "1");  // those are read-only in a run
    request.environment.emplace_back("PIP_CONFIG_FILE", "/dev/null");
    request.limits.wall = of.left();
    request.result_channel = true;
    request.label = of.options.request_id;
    return request;
}

// pip is asked first whether everything is there, because then nothing needs to be fetched, and no index is needed.
awaitable<sandbox::run_result> package_runs::run(std::shared_ptr<package_work> of, output_collector& output)
{
    sandbox::run_result there;
    if (of->order.kind == package_kind::pip) {
        there = co_await backend_.run(install_request(*of, false), output);
        if (there.why != sandbox::cause::exited || there.exit_code == 0) co_return there;
    }
    const passing_folder folder(runs_.sandboxes(), of->where.owner);
    auto fetched = co_await fetch(of, folder.path(), output);
    add_earlier(fetched, there);
    if (!worked(fetched)) co_return fetched;
    auto end = co_await install_fetched(of, folder.path(), output);
    add_earlier(end, fetched);
    co_return end;
}

awaitable<sandbox::run_result> package_runs::fetch(std::shared_ptr<package_work> of, std::filesystem::path folder,
                                                   output_collector& output)
{
    auto request = fetch_request_in(*of, folder);
    auto ours = open_channel(request);
    package_source source{client_, pool_, of->ticket, of->index, of->authorization, of->where.owner, of->left()};
    auto door = open_package_door(std::move(ours), std::move(source));
    auto end = co_await run_beside(backend_, std::move(request), std::move(door), output);
    co_return end;
}

awaitable<sandbox::run_result> package_runs::install_fetched(std::shared_ptr<package_work> of,
                                                             std::filesystem::path folder, output_collector& output)
{
    auto request = install_request(*of, true);
    auto ours = open_channel(request);
    auto archive = hand_over(pool_, of->where.owner, std::move(folder), std::move(ours));
    auto end = co_await run_beside(backend_, std::move(request), std::move(archive), output);
    co_return end;
}

}  // namespace cmcp
