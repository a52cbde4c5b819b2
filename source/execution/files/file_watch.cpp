#include "files/file_watch.hpp"

#include "async/task_group.hpp"
#include "posix/unique_fd.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/inotify.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

constexpr std::uint32_t what_counts =
    IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
constexpr auto pause = std::chrono::milliseconds(50);

[[noreturn]] void fail_watch(int error, const char* what)
{
    throw std::system_error(error, std::generic_category(), what);
}

}  // namespace

struct file_watch::state : std::enable_shared_from_this<file_watch::state> {
    struct observer;
    using observers = std::multimap<std::string, std::weak_ptr<observer>, std::less<>>;

    struct observer {
        std::weak_ptr<state> owner;
        std::string principal;
        int watch = -1;
        std::string name;
        std::function<void()> changed;
        observers::iterator entry;  // among those of the folder, as long as it is watched

        observer() = default;
        observer(const observer&) = delete;
        observer& operator=(const observer&) = delete;
        ~observer()
        {
            if (const auto alive = owner.lock()) alive->forget(*this);
        }
    };

    state(asio::any_io_executor executor, std::size_t limit) : inotify(executor), most(limit), tasks(executor) {}

    void start();
    std::shared_ptr<observer> add(std::string principal, int folder, std::string name, std::function<void()> changed);
    void forget(const observer& gone);
    std::vector<std::weak_ptr<observer>> concerned_by(std::string_view events);

    static awaitable<> tell(std::shared_ptr<state> self, std::vector<std::weak_ptr<observer>> concerned);
    static awaitable<> read(std::shared_ptr<state> self);

    asio::posix::stream_descriptor inotify;
    std::size_t most;
    std::map<int, observers> folders;  // by watch descriptor
    std::size_t count = 0;
    std::map<std::string, std::size_t> shares;  // by principal
    task_group tasks;
};

void file_watch::state::start()
{
    if (inotify.is_open()) return;
    unique_fd descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!descriptor) fail_watch(errno, "inotify_init1");
    inotify.assign(descriptor.release());
    tasks.spawn("watch files", read(shared_from_this()));
}

std::shared_ptr<file_watch::state::observer> file_watch::state::add(std::string principal, int folder, std::string name,
                                                                    std::function<void()> changed)
{
    // A principal has at most as many as are left for the others, so there is always room for one more principal.
    const auto share = shares.find(principal);
    const std::size_t own = share == shares.end() ? 0 : share->second;
    if (own >= most - count) fail_watch(ENOSPC, "too many observers");
    start();
    const std::string path = "/proc/self/fd/" + std::to_string(folder);
    const int watch = ::inotify_add_watch(inotify.native_handle(), path.c_str(), what_counts);
    if (watch == -1) fail_watch(errno, "inotify_add_watch");
    auto added = std::make_shared<observer>();
    added->principal = std::move(principal);
    added->watch = watch;
    added->name = std::move(name);
    added->changed = std::move(changed);
    added->entry = folders[watch].emplace(added->name, added);
    ++count;
    ++shares[added->principal];
    added->owner = weak_from_this();
    return added;
}

void file_watch::state::forget(const observer& gone)
{
    --count;
    if (--shares[gone.principal] == 0) shares.erase(gone.principal);
    const auto folder = folders.find(gone.watch);
    if (folder == folders.end()) return;
    folder->second.erase(gone.entry);
    if (!folder->second.empty()) return;
    folders.erase(folder);
    ::inotify_rm_watch(inotify.native_handle(), gone.watch);
}

// Those of each entry once, however often it has changed.
std::vector<std::weak_ptr<file_watch::state::observer>> file_watch::state::concerned_by(std::string_view events)
{
    std::vector<std::weak_ptr<observer>> concerned;
    std::set<std::pair<int, std::string_view>> seen;
    const auto collect = [&concerned](auto first, auto last) {
        for (; first != last; ++first) concerned.push_back(first->second);
    };
    bool all = false;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= events.size();) {
        inotify_event event{};
        std::memcpy(&event, events.data() + at, sizeof event);
        const char* name = events.data() + at + sizeof event;
        at += sizeof event + event.len;
        all = all || (event.mask & IN_Q_OVERFLOW) != 0;
        const auto folder = folders.find(event.wd);
        if (folder == folders.end()) continue;
        if ((event.mask & IN_IGNORED) != 0) {
            folders.erase(folder);  // the folder is gone; the events of its entries came before
            continue;
        }
        const std::string_view entry(name, ::strnlen(name, event.len));
        if (event.len == 0 || !seen.emplace(event.wd, entry).second) continue;
        const auto [first, last] = folder->second.equal_range(entry);
        collect(first, last);
    }
    if (!all) return concerned;
    concerned.clear();
    for (const auto& [watch, observing] : folders) collect(observing.begin(), observing.end());
    return concerned;
}

// A file may have very many observers; each may end others.
awaitable<> file_watch::state::tell(std::shared_ptr<state> self, std::vector<std::weak_ptr<observer>> concerned)
{
    constexpr std::size_t at_once = 500;
    for (std::size_t i = 0; i < concerned.size(); ++i) {
        if (i % at_once == at_once - 1) co_await asio::post(self->inotify.get_executor(), asio::use_awaitable);
        if (const auto one = concerned[i].lock()) one->changed();
    }
}

awaitable<> file_watch::state::read(std::shared_ptr<state> self)
{
    std::array<char, 16 * 1024> events{};
    asio::steady_timer timer(self->inotify.get_executor());
    for (;;) {
        const auto [failure, size] = co_await self->inotify.async_read_some(asio::buffer(events), as_tuple);
        if (failure) co_return;
        auto concerned = self->concerned_by({events.data(), size});
        co_await tell(self, std::move(concerned));
        timer.expires_after(pause);
        const auto [stopped] = co_await timer.async_wait(as_tuple);
        if (stopped) co_return;
    }
}

file_watch::file_watch(asio::any_io_executor executor, std::size_t most)
    : state_(std::make_shared<state>(std::move(executor), most))
{
}

file_watch::~file_watch()
{
    state_->tasks.cancel_all();
    boost::system::error_code ignored;
    state_->inotify.close(ignored);
}

std::shared_ptr<void> file_watch::observe(std::string principal, int folder, std::string name,
                                          std::function<void()> changed)
{
    return state_->add(std::move(principal), folder, std::move(name), std::move(changed));
}

}  // namespace cmcp
