#include "engine/exchange_folder.hpp"

#include "posix/bytes.hpp"
#include "text/random_id.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace cmcp::engine {
namespace {

namespace fs = std::filesystem;

constexpr mode_t for_all_to_read = 0444;
constexpr mode_t for_all_to_write = 0666;  // by whom, the container says: nobody else gets through to the folder

void check(int result, const std::string& what)
{
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
}

void make_folder(const fs::path& place, mode_t mode)
{
    check(::mkdir(place.c_str(), mode), place.string());
    check(::chmod(place.c_str(), mode), place.string());  // whatever the umask is
}

unique_fd make_file(const fs::path& place, mode_t mode)
{
    unique_fd file(::open(place.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    check(file.get(), place.string());
    check(::fchmod(file.get(), mode), place.string());
    return file;
}

}  // namespace

exchange_folder::exchange_folder(const fs::path& root) : place_(root / random_id())
{
    for (const auto& folder : {root.parent_path(), root})
        if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) check(-1, folder.string());
    make_folder(place_, 0700);
    make_folder(shown(), 0755);
    result_ = make_file(result_file(), for_all_to_write);
    report_ = make_file(report_file(), for_all_to_write);
}

exchange_folder::~exchange_folder()
{
    std::error_code ignored;
    fs::remove_all(place_, ignored);
}

void exchange_folder::put(const char* name, const std::string& content)
{
    const unique_fd file = make_file(shown() / name, for_all_to_read);
    if (!write_all(file.get(), content)) check(-1, name);
}

unique_fd exchange_folder::listen()
{
    unique_fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    check(listener.get(), "socket");
    // By way of the descriptor, as the folder's own path may be too long for a socket's name.
    const unique_fd folder(::open(shown().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    check(folder.get(), shown().string());
    const std::string name = "/proc/self/fd/" + std::to_string(folder.get()) + "/link";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
    check(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
    check(::chmod((shown() / "link").c_str(), for_all_to_write), "chmod");
    check(::listen(listener.get(), 1), "listen");
    return listener;
}

std::string exchange_folder::result(std::size_t limit) const { return read_at(result_.get(), 0, limit).value_or(""); }

std::string exchange_folder::report(std::size_t limit) const { return read_at(report_.get(), 0, limit).value_or(""); }

void exchange_folder::clear(const fs::path& folder, const std::string& keep)
{
    std::error_code none;
    std::vector<fs::path> left;
    for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
        if (at->path().filename() != keep) left.push_back(at->path());
    for (const auto& each : left) fs::remove_all(each, none);
}

channel_bridge::channel_bridge(asio::any_io_executor executor, unique_fd listener, unique_fd channel)
    : listener_(executor, asio::local::stream_protocol(), listener.release()),
      channel_(executor, asio::local::stream_protocol(), channel.release()),
      peer_(executor)
{
}

awaitable<> channel_bridge::carry(socket& from, socket& to)
{
    std::string buffer(32 << 10, '\0');
    for (;;) {
        auto [failure, size] = co_await from.async_read_some(asio::buffer(buffer), as_tuple);
        if (failure) break;
        auto [unsent, sent] = co_await asio::async_write(to, asio::buffer(buffer, size), as_tuple);
        if (unsent) break;
    }
    boost::system::error_code ignored;
    to.shutdown(socket::shutdown_send, ignored);
}

awaitable<> channel_bridge::run()
{
    const auto self = shared_from_this();
    auto [failure] = co_await listener_.async_accept(peer_, as_tuple);
    boost::system::error_code ignored;
    listener_.close(ignored);
    if (failure) co_return;
    auto executor = channel_.get_executor();
    auto group =
        asio::experimental::make_parallel_group(asio::co_spawn(executor, carry(channel_, peer_), asio::deferred),
                                                asio::co_spawn(executor, carry(peer_, channel_), asio::deferred));
    co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
}

void channel_bridge::close()
{
    boost::system::error_code ignored;
    listener_.close(ignored);
    channel_.close(ignored);
    peer_.close(ignored);
}

}  // namespace cmcp::engine
