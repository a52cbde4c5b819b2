#include "envd/filesystem.hpp"
#include "envd/transfers.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>

extern char** environ;

namespace cmcp::envd {

namespace {

using asio::ip::tcp;

json::object metrics()
{
    std::map<std::string, std::int64_t> memory;  // KiB
    std::ifstream in("/proc/meminfo");
    std::string name, unit;
    for (std::int64_t value = 0; in >> name >> value && std::getline(in, unit);) memory[name] = value;
    const auto total = memory["MemTotal:"] << 10, used = total - (memory["MemAvailable:"] << 10);
    struct statvfs disk {};
    ::statvfs(find_account({}).home.c_str(), &disk);
    return {{"ts", std::time(nullptr)},
            {"cpu_count", ::sysconf(_SC_NPROCESSORS_ONLN)},
            {"cpu_used_pct", 0},
            {"mem_total", total},
            {"mem_used", used},
            {"mem_cache", memory["Cached:"] << 10},
            {"mem_total_mib", total >> 20},
            {"mem_used_mib", used >> 20},
            {"disk_used", (disk.f_blocks - disk.f_bfree) * disk.f_frsize},
            {"disk_total", disk.f_blocks * disk.f_frsize}};
}

json::object environment()
{
    json::object all;
    for (char** each = environ; *each != nullptr; ++each)
        if (const char* equals = std::strchr(*each, '='))
            all[{*each, static_cast<std::size_t>(equals - *each)}] = equals + 1;
    return all;
}

// A new machine's working folder is root's.
void give_home_to_user()
{
    const auto user = find_account({});
    struct stat about {};
    const bool is_of_root = ::stat(user.home.c_str(), &about) == 0 && about.st_uid == 0;
    if (user.changes && is_of_root && ::chown(user.home.c_str(), user.uid, user.gid) != 0)
        std::fprintf(stderr, "container-mcp-envd: %s stays root's\n", user.home.c_str());
}

class daemon {
public:
    explicit daemon(asio::any_io_executor executor) : processes_(executor), watches_(executor) {}

    using answerer = awaitable<> (daemon::*)(connection&);
    static awaitable<> accept(daemon& self, tcp::acceptor& door, answerer how)
    {
        for (;;) {
            auto [failed, socket] = co_await door.async_accept(asio::as_tuple(asio::use_awaitable));
            if (!failed) asio::co_spawn(door.get_executor(), self.serve(std::move(socket), how), asio::detached);
            if (failed) co_await signal(door.get_executor()).wait(std::chrono::milliseconds(50));  // no descriptors
        }
    }

    /// Programs of the sandbox may ask whether its code interpreter is there, which the server itself is.
    awaitable<> of_interpreter(connection& by)
    {
        const connection::fields plain_text{{"Content-Type", "text/plain"}};
        if (by.path() == "/health") co_return co_await by.reply(200, "OK", plain_text);
        refusal why("not_found", "code is run from outside of the sandbox");
        co_await by.refuse(std::move(why), false);
    }

    awaitable<> answer(connection& by)
    {
        std::optional<refusal> why;
        const bool is_call =
            by.path().starts_with("/process.Process/") || by.path().starts_with("/filesystem.Filesystem/");
        try {
            if (is_call)
                co_await call(by);
            else
                co_await plain(by);
        } catch (const refusal& refused) {
            why = refused;
        }
        if (!why) co_return;
        if (by.begun()) throw std::runtime_error("the answer cannot go on");
        const bool streams = by.header("Content-Type").starts_with("application/connect+");
        if (!is_call || !streams) co_return co_await by.refuse(std::move(*why), is_call);
        json::object error{{"code", why->code}, {"message", why->what()}};
        json::object last;
        last["error"] = std::move(error);
        co_await by.begin(200, stream_fields());
        co_await by.write(framed(json::serialize(last), 2));
        co_await by.end();
    }

private:
    awaitable<> serve(tcp::socket socket, answerer how)
    {
        const auto by = std::make_shared<connection>(std::move(socket));
        try {
            for (;;) {
                const bool there = co_await by->next();
                if (!there) co_return;
                co_await (this->*how)(*by);
            }
        } catch (const std::exception&) {  // the peer has gone, or what it sends is no HTTP
        }
    }

    awaitable<> plain(connection& by)
    {
        const bool reads = by.method() == "GET" || by.method() == "HEAD";
        if (by.path() == "/health" && reads) co_return co_await by.reply(204, std::string());
        if (by.path() == "/metrics" && reads) co_return co_await by.reply(200, json::serialize(metrics()));
        if (by.path() == "/envs" && reads) co_return co_await by.reply(200, json::serialize(environment()));
        if (by.path() == "/init" && by.method() == "POST") co_return co_await initialize(by);
        if (by.path() == "/sudo" && by.method() == "POST") co_return co_await processes_.run_as_root(by);
        if (by.path() == "/files" && by.method() == "GET") co_return co_await send_file(by);
        if (by.path() == "/files" && by.method() == "POST") co_return co_await receive_files(by);
        throw refusal("not_found", "there is nothing at " + std::string(by.path()));
    }

    // Variables of all programs to come. The server does not pass this on from outside.
    awaitable<> initialize(connection& by)
    {
        const auto wish = read_object(co_await by.read_all());
        for (const auto& [name, value] : object(wish, "envVars"))
            if (value.is_string() && !name.empty() && name.find('=') == name.npos)
                ::setenv(std::string(name).c_str(), value.get_string().c_str(), 1);
        co_await by.reply(204, std::string());
    }

    static json::object read_object(std::string_view body)
    {
        if (body.empty()) return {};
        boost::system::error_code invalid;
        auto value = json::parse(body, invalid);
        if (invalid || !value.is_object()) throw refusal("invalid_argument", "the message is not a JSON object");
        return std::move(value.get_object());
    }

    // A stream begins with one message in a frame.
    static std::string_view message_of(std::string_view body)
    {
        if (body.size() < 5 || body[0] != 0) throw refusal("invalid_argument", "the stream begins without a message");
        std::size_t size = 0;
        for (int at = 1; at < 5; ++at) size = size << 8 | static_cast<unsigned char>(body[at]);
        if (size > body.size() - 5) throw refusal("invalid_argument", "the message is cut off");
        return body.substr(5, size);
    }

    awaitable<> call(connection& by)
    {
        if (by.method() != "POST") throw refusal("unimplemented", "calls are made by POST");
        const auto type = by.header("Content-Type");
        const bool streams = type.starts_with("application/connect+json");
        if (!streams && !type.starts_with("application/json"))
            throw refusal("unimplemented", "messages are JSON (application/json, application/connect+json)");
        const auto body = co_await by.read_all();
        const auto name = by.path().substr(1);
        if (streams) {
            const auto wish = read_object(message_of(body));
            if (name == "process.Process/Start") co_return co_await processes_.start(by, wish);
            if (name == "process.Process/Connect") co_return co_await processes_.connect(by, wish);
            if (name == "filesystem.Filesystem/WatchDir") co_return co_await watches_.stream(by, wish);
            throw refusal("unimplemented", "there is no stream " + std::string(name));
        }
        auto wish = read_object(body);
        json::object answer;
        if (name == "process.Process/SendInput")
            answer = co_await processes_.send_input(std::move(wish));
        else if (name == "process.Process/SendSignal")
            answer = co_await processes_.send_signal(std::move(wish));
        else
            answer = at_once(name, wish, by.user());
        co_await by.reply(200, json::serialize(answer));
    }

    json::object at_once(std::string_view name, const json::object& wish, const account& user)
    {
        if (name == "process.Process/List") return processes_.list();
        if (name == "process.Process/Update") return processes_.update(wish);
        if (name == "process.Process/CloseStdin") return processes_.close_input(wish);
        if (name == "filesystem.Filesystem/Stat") return stat_entry(wish, user);
        if (name == "filesystem.Filesystem/MakeDir") return make_folder(wish, user);
        if (name == "filesystem.Filesystem/Move") return move_entry(wish, user);
        if (name == "filesystem.Filesystem/ListDir") return list_folder(wish, user);
        if (name == "filesystem.Filesystem/Remove") return remove_entry(wish, user);
        if (name == "filesystem.Filesystem/CreateWatcher") return watches_.create(wish, user);
        if (name == "filesystem.Filesystem/GetWatcherEvents") return watches_.events(wish);
        if (name == "filesystem.Filesystem/RemoveWatcher") return watches_.remove(wish);
        throw refusal("unimplemented", "there is no method " + std::string(name));
    }

    processes processes_;
    watches watches_;
};

// False: a program of the sandbox has the port.
bool listens(tcp::acceptor& door, std::uint16_t port)
{
    boost::system::error_code taken;
    door.open(tcp::v4(), taken);
    ::fcntl(door.native_handle(), F_SETFD, FD_CLOEXEC);
    door.set_option(tcp::acceptor::reuse_address(true), taken);
    door.bind({asio::ip::address_v4::loopback(), port}, taken);
    if (!taken) door.listen(tcp::acceptor::max_listen_connections, taken);
    return !taken;
}

int run()
{
    ::signal(SIGPIPE, SIG_IGN);
    // Its own program is the first of these three; what comes with the others is the server's.
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    ::fcntl(server_channel, F_SETFD, FD_CLOEXEC);
    asio::io_context io(1);
    tcp::acceptor door(io, {asio::ip::address_v4::loopback(), usual_port});
    ::fcntl(door.native_handle(), F_SETFD, FD_CLOEXEC);
    give_home_to_user();
    daemon self(io.get_executor());
    asio::co_spawn(io, daemon::accept(self, door, &daemon::answer), asio::detached);
    tcp::acceptor second(io);
    if (listens(second, interpreter_port))
        asio::co_spawn(io, daemon::accept(self, second, &daemon::of_interpreter), asio::detached);
    [[maybe_unused]] const auto size = ::write(server_channel, "ready\n", 6);
    io.run();
    return 0;
}

}  // namespace

}  // namespace cmcp::envd

int main()
{
    try {
        return cmcp::envd::run();
    } catch (const std::exception& failed) {
        std::fprintf(stderr, "container-mcp-envd: %s\n", failed.what());
        return 1;
    }
}
