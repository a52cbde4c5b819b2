#include "egress/resolver.hpp"

#include "async/event.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <ares.h>
#include <netdb.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>

namespace cmcp {
namespace {

namespace ip = boost::asio::ip;
using boost::system::error_code;

constexpr int first_timeout_ms = 1500;  // doubled by c-ares with each of the tries
constexpr int tries = 2;

[[noreturn]] void give_up(int status)
{
    const bool no_answer = status == ARES_ETIMEOUT || status == ARES_ECONNREFUSED;
    throw resolve_error(::ares_strerror(status == ARES_SUCCESS ? ARES_ENODATA : status), no_answer);
}

void initialise_library()
{
    static const int done = ::ares_library_init(ARES_LIB_INIT_ALL);
    if (done != ARES_SUCCESS) throw resolve_error(::ares_strerror(done));
}

ip::address to_address(const ares_addrinfo_node& node)
{
    if (node.ai_family == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, node.ai_addr, sizeof v4);
        return ip::address_v4(ntohl(v4.sin_addr.s_addr));
    }
    sockaddr_in6 v6;
    std::memcpy(&v6, node.ai_addr, sizeof v6);
    ip::address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return ip::address_v6(bytes, v6.sin6_scope_id);
}

/// A query to the name servers. c-ares opens the sockets and says which to watch. The handlers keep the lookup
/// alive.
class lookup : public std::enable_shared_from_this<lookup> {
public:
    explicit lookup(asio::any_io_executor executor) : executor_(executor), tick_(executor) {}
    lookup(const lookup&) = delete;
    lookup& operator=(const lookup&) = delete;
    ~lookup() { close(); }

    void start(const std::string& name)
    {
        open();
        ares_addrinfo_hints hints{};
        hints.ai_family = AF_UNSPEC;
        hints.ai_socktype = SOCK_STREAM;
        ::ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, &lookup::answered, this);
        schedule();
    }

    // Ends the lookup; no callback of c-ares comes after it.
    void close()
    {
        if (channel_ != nullptr) ::ares_destroy(std::exchange(channel_, nullptr));
        tick_.cancel();
    }

    event done;  // notified by the answer
    bool finished = false;
    int status = ARES_SUCCESS;
    std::vector<ip::address> addresses;

private:
    struct watched {
        explicit watched(asio::any_io_executor executor, ares_socket_t fd) : socket(executor, fd) {}
        ~watched() { socket.release(); }  // c-ares closes it
        asio::posix::stream_descriptor socket;
        bool wants_read = false, wants_write = false, reading = false, writing = false;
    };

    void open()
    {
        ares_options options{};
        options.timeout = first_timeout_ms;
        options.tries = tries;
        options.sock_state_cb = &lookup::socket_changed;
        options.sock_state_cb_data = this;
        char order[] = "fb";
        options.lookups = order;
        const int flags = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS;
        const int failed = ::ares_init_options(&channel_, &options, flags);
        if (failed != ARES_SUCCESS) throw resolve_error(::ares_strerror(failed));
    }

    static void answered(void* self, int status, int, ares_addrinfo* list)
    {
        auto& me = *static_cast<lookup*>(self);
        me.status = status;
        for (auto* node = list != nullptr ? list->nodes : nullptr; node != nullptr; node = node->ai_next)
            if (node->ai_family == AF_INET || node->ai_family == AF_INET6) me.addresses.push_back(to_address(*node));
        if (list != nullptr) ::ares_freeaddrinfo(list);
        me.finished = true;
        me.done.notify();
    }

    static void socket_changed(void* self, ares_socket_t fd, int readable, int writable)
    {
        auto& me = *static_cast<lookup*>(self);
        if (readable == 0 && writable == 0) {
            me.sockets_.erase(fd);
            return;
        }
        auto& socket = me.sockets_[fd];
        if (!socket) socket = std::make_shared<watched>(me.executor_, fd);
        socket->wants_read = readable != 0;
        socket->wants_write = writable != 0;
        me.watch(fd, socket);
    }

    void watch(ares_socket_t fd, const std::shared_ptr<watched>& on)
    {
        if (on->wants_read && !std::exchange(on->reading, true)) {
            on->socket.async_wait(asio::posix::stream_descriptor::wait_read,
                                  [me = shared_from_this(), fd, on](error_code) { me->ready(fd, *on, true); });
        }
        if (on->wants_write && !std::exchange(on->writing, true)) {
            on->socket.async_wait(asio::posix::stream_descriptor::wait_write,
                                  [me = shared_from_this(), fd, on](error_code) { me->ready(fd, *on, false); });
        }
    }

    void ready(ares_socket_t fd, watched& on, bool to_read)
    {
        (to_read ? on.reading : on.writing) = false;
        auto at = sockets_.find(fd);
        if (channel_ == nullptr || at == sockets_.end() || at->second.get() != &on) return;
        ::ares_process_fd(channel_, to_read ? fd : ARES_SOCKET_BAD, to_read ? ARES_SOCKET_BAD : fd);
        schedule();
        at = sockets_.find(fd);
        if (at != sockets_.end()) watch(fd, std::shared_ptr<watched>(at->second));
    }

    // c-ares repeats and gives up by itself, but has to be called in time.
    void schedule()
    {
        timeval wait{};
        if (finished || channel_ == nullptr || ::ares_timeout(channel_, nullptr, &wait) == nullptr) return;
        tick_.expires_after(std::chrono::seconds(wait.tv_sec) + std::chrono::microseconds(wait.tv_usec));
        tick_.async_wait([me = shared_from_this()](error_code failure) {
            if (failure || me->channel_ == nullptr) return;
            ::ares_process_fd(me->channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
            me->schedule();
        });
    }

    asio::any_io_executor executor_;
    asio::steady_timer tick_;
    ares_channel channel_ = nullptr;
    std::map<ares_socket_t, std::shared_ptr<watched>> sockets_;
};

struct closed_at_the_end {
    std::shared_ptr<lookup> query;
    ~closed_at_the_end() { query->close(); }
};

}  // namespace

awaitable<std::vector<ip::address>> resolve(std::string name)
{
    initialise_library();
    auto executor = co_await asio::this_coro::executor;
    const closed_at_the_end guard{std::make_shared<lookup>(executor)};
    auto& query = *guard.query;
    query.start(name);
    while (!query.finished) co_await query.done.wait();
    if (query.addresses.empty()) give_up(query.status);
    co_return std::move(query.addresses);
}

}  // namespace cmcp
