#include "packages/package_runs.hpp"

#include "files/file_root.hpp"
#include "files/folder_reader.hpp"
#include "packages/package_door.hpp"
#include "posix/bytes.hpp"
#include "runs/python_run.hpp"
#include "runs/sandbox_error.hpp"
#include "text/encodings.hpp"
#include "text/words.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>

#include <algorithm>
#include <exception>
#include <regex>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace cmcp {

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

// The runs of an installation count as one. That which installs begins first.
void add_beside(sandbox::run_result& end, const sandbox::run_result& other)
{
    end.wall = std::max(end.wall, other.wall);
    end.cpu += other.cpu;
    end.peak_memory = std::max(end.peak_memory, other.peak_memory);
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
awaitable<> hand_over(blocking_pool& pool, std::string owner, std::filesystem::path folder,
                      asio::posix::stream_descriptor& to)
{
    auto open = [folder = std::move(folder)] { return open_archive(folder); };
    const auto archive = co_await pool.run(owner, std::move(open));
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

/// A run, and what talks to it meanwhile, which may have a run of its own with the same output: both have ended then.
awaitable<sandbox::run_result> run_beside(sandbox::backend& backend, sandbox::run_request request, awaitable<> other,
                                          output_collector& output)
{
    constexpr auto patience = std::chrono::seconds(10);
    const auto executor = co_await asio::this_coro::executor;
    task_group beside(executor);
    beside.spawn("packages", std::move(other));
    sandbox::run_result end;
    std::exception_ptr failure;
    try {
        auto ended = co_await backend.run(std::move(request), output);
        end = std::move(ended);
    } catch (...) {
        failure = std::current_exception();
    }
    beside.cancel_all();
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    while (beside.size() != 0) co_await beside.wait_idle(patience);
    co_await asio::this_coro::reset_cancellation_state();
    if (failure) std::rethrow_exception(failure);
    co_return end;
}

constexpr std::size_t most_names = 100;
constexpr std::string_view quiet_pip = "--no-input --disable-pip-version-check --no-cache-dir --progress-bar off";
// npm takes tarballs from the registry itself, wherever it names them, and writes their own addresses into lock files.
constexpr std::string_view quiet_npm =
    "install --no-audit --no-fund --no-update-notifier --replace-registry-host always --fetch-retries 1 "
    "--fetch-retry-mintimeout 500";

// Options, files and addresses are refused, because they would bring in code from elsewhere.
bool fits(package_kind kind, const std::string& name)
{
    static const std::regex pip(
        "[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\\[[A-Za-z0-9,._ -]+\\])?"
        "( *(===|==|>=|<=|~=|!=|<|>) *[A-Za-z0-9.*+!_-]+( *, *(===|==|>=|<=|~=|!=|<|>) *[A-Za-z0-9.*+!_-]+)*)?");
    static const std::regex npm("(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*(@[A-Za-z0-9.^~*+<>=_-]+)?");
    return name.size() <= 200 && std::regex_match(name, kind == package_kind::pip ? pip : npm);
}

void add_words(std::vector<std::string>& command, std::string_view words)
{
    for (const auto word : split(words, ' ')) command.emplace_back(word);
}

void add_names(std::vector<std::string>& command, const package_order& order)
{
    command.emplace_back("--");
    command.insert(command.end(), order.names.begin(), order.names.end());
}

// Wheels are only downloaded. Other packages are built here, where there is nothing of the caller.
void add_pip_fetch(std::vector<std::string>& command, const package_order& order, const package_index& index)
{
    command.insert(command.end(), {"pip", order.source ? "wheel" : "download"});
    add_words(command, order.source ? "--wheel-dir packages" : "--dest packages --only-binary :all:");
    add_words(command, quiet_pip);
    add_words(command, "--retries 1 --timeout 20");
    const std::string host = index.root().who.text();
    command.insert(command.end(), {"--trusted-host", host, "--index-url", index.plain_root()});
}

void add_npm(std::vector<std::string>& command, const package_order& order, const package_index& index, bool scripts)
{
    command.push_back(order.program);
    add_words(command, quiet_npm);
    if (!scripts) command.emplace_back("--ignore-scripts");
    command.insert(command.end(), {"--registry", index.plain_root()});
}

}  // namespace

// The Python program that fetches packages: it serves HTTP on a port of the run's own loopback, passes each address
// that is asked for on through its descriptor 3 (package_door.hpp), and runs pip with the words, or the command, of its
// arguments with that port as its proxy. What ends well leaves packages.tar.
extern const std::string_view package_fetcher;

// The Python program that installs packages in a sandbox: its arguments are the words of pip, or the command of npm.
// Where something is lacking, it writes a byte to descriptor 3, gets ready, and reads the archive from there.
// {"before": {name: version}, "after": {…}} goes to descriptor 4.
extern const std::string_view package_installer;

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

sandbox::run_request package_runs::install_request(const package_work& of) const
{
    auto request = runs_.apart(of.where);  // nothing of the sandbox's is beside it
    request.argv = python_arguments(python_home::none, runs_.interpreter(of.where), std::string(package_installer),
                                    installing_words(of.order, *of.index));
    request.environment.emplace_back("PIP_BREAK_SYSTEM_PACKAGES", "1");  // those are read-only in a run
    request.environment.emplace_back("PIP_CONFIG_FILE", "/dev/null");
    request.limits.wall = of.left();
    request.asks_after = of.time_of_call;
    request.result_channel = true;
    request.label = of.options.request_id;
    return request;
}

// The one that installs looks first whether everything is there, because then nothing needs to be fetched, and no index
// is needed. Else it gets ready while the other one fetches. What failed first is what the caller is told.
awaitable<sandbox::run_result> package_runs::run(std::shared_ptr<package_work> of, output_collector& output)
{
    auto request = install_request(*of);
    auto ours = open_channel(request);
    const auto fetched = std::make_shared<std::optional<sandbox::run_result>>();
    auto other = provide(of, std::move(ours), output, fetched);
    auto end = co_await run_beside(backend_, std::move(request), std::move(other), output);
    if (!*fetched) co_return end;
    auto& last = worked(**fetched) ? end : **fetched;
    add_beside(last, worked(**fetched) ? **fetched : end);
    co_return std::move(last);
}

// The installer ends when its channel does.
awaitable<> package_runs::provide(std::shared_ptr<package_work> of, unique_fd channel, output_collector& output,
                                  fetch_end end)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::posix::stream_descriptor to(executor, channel.release());
    char asks = 0;
    auto into = asio::buffer(&asks, 1);
    auto [failure, length] = co_await to.async_read_some(into, as_tuple);
    if (failure) co_return;
    const passing_folder folder(runs_.sandboxes(), of->where.owner);
    auto fetched = co_await fetch(of, folder.path(), output);
    *end = std::move(fetched);
    if (!worked(**end)) co_return;
    std::string owner = of->where.owner;
    auto from = folder.path();
    co_await hand_over(pool_, std::move(owner), std::move(from), to);
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

void check_package_names(package_kind kind, const std::vector<std::string>& names)
{
    if (names.empty() || names.size() > most_names)
        throw sandbox_error("InvalidArgument", "package_names must have 1 to 100 names.");
    for (const auto& name : names)
        if (!fits(kind, name))
            throw sandbox_error(
                "InvalidArgument",
                "package_names: \"" + name.substr(0, 100) + "\" is not a package with an optional version, such as " +
                    (kind == package_kind::pip ? "numpy or numpy==1.26.4." : "left-pad or left-pad@1.3.0."));
}

index_address read_index_address(package_kind kind, const std::string& text)
{
    const auto parsed = boost::urls::parse_uri(text);
    index_address address;
    try {
        if (!parsed) throw bad_url("it is no URL");
        boost::urls::url clean(*parsed);
        if (clean.has_userinfo())
            address.authorization = "Basic " + base64_encode(clean.user() + ":" + clean.password());
        clean.remove_userinfo();
        address.url = web_url::parse(std::string_view(clean.buffer().data(), clean.buffer().size()));
    } catch (const bad_url&) {
        throw sandbox_error("NotAvailable",
                            std::string(kind == package_kind::pip ? "PYPI_INDEX_URL" : "NPM_REGISTRY_URL") +
                                " of this server is no http:// or https:// address; its operator can set another.");
    }
    return address;
}

std::vector<std::string> fetching_command(const package_order& order, const package_index& index)
{
    std::vector<std::string> command;
    if (order.kind == package_kind::pip) {
        add_pip_fetch(command, order, index);
    } else {
        add_npm(command, order, index, false);
        add_words(command, "--cache packages");
    }
    add_names(command, order);
    return command;
}

std::vector<std::string> installing_words(const package_order& order, const package_index& index)
{
    std::vector<std::string> words;
    if (order.kind == package_kind::pip) {
        // Whether packages that are there already fit each other is no news of this installation, and takes long to
        // find out.
        add_words(words,
                  "pip install --user --no-warn-script-location --no-warn-conflicts --no-index --only-binary :all:");
        add_words(words, quiet_pip);
    } else {
        add_npm(words, order, index, order.source);
        words.emplace_back("--offline");
    }
    add_names(words, order);
    return words;
}

}  // namespace cmcp
