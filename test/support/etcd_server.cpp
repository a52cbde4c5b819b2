#include "test/support/etcd_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cmcp::test {

namespace {

using tcp = boost::asio::ip::tcp;

// Two that differ, because both are taken at once before they are given back.
std::pair<std::uint16_t, std::uint16_t> free_ports()
{
    boost::asio::io_context io;
    tcp::acceptor one(io, {boost::asio::ip::address_v4::loopback(), 0});
    tcp::acceptor two(io, {boost::asio::ip::address_v4::loopback(), 0});
    return {one.local_endpoint().port(), two.local_endpoint().port()};
}

pid_t started(std::vector<std::string> words, int log)
{
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, log, 2);
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t process = -1;
    const int failure = ::posix_spawnp(&process, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) throw std::runtime_error("etcd does not start: install etcd-server");
    return process;
}

constexpr int room_for_log = 1 << 20;

void wait_until_ready(int log)
{
    std::string said;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (said.find("serving client traffic insecurely") == std::string::npos &&
           said.find("serving insecure client requests") == std::string::npos) {
        pollfd readable{log, POLLIN, 0};
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        char piece[4096];
        if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) <= 0)
            throw std::runtime_error("etcd does not answer: " + said);
        const auto size = ::read(log, piece, sizeof piece);
        if (size <= 0) throw std::runtime_error("etcd has ended: " + said);
        said.append(piece, static_cast<std::size_t>(size));
    }
}

}  // namespace

etcd_server::etcd_server()
{
    const auto [port, peers] = free_ports();
    port_ = port;
    const std::string peer_url = "http://127.0.0.1:" + std::to_string(peers);
    int log[2];
    if (::pipe2(log, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    ::fcntl(log[1], F_SETPIPE_SZ, room_for_log);
    process_ =
        started({"etcd", "--name", "one", "--data-dir", (folder_.path / "data").string(), "--listen-client-urls", url(),
                 "--advertise-client-urls", url(), "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls",
                 peer_url, "--initial-cluster", "one=" + peer_url, "--logger", "zap", "--log-outputs", "stderr"},
                log[1]);
    ::close(log[1]);
    try {
        wait_until_ready(log[0]);
    } catch (...) {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        ::close(log[0]);
        throw;
    }
    log_ = log[0];
}

etcd_server::~etcd_server()
{
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(log_);
}

void etcd_server::hold_up() const
{
    ::kill(process_, SIGSTOP);
    ::waitpid(process_, nullptr, WUNTRACED);  // until it stands still
}

void etcd_server::go_on() const { ::kill(process_, SIGCONT); }

settings etcd_server::settings_of(const std::string& node) const
{
    settings config;
    config.cluster_etcd = {url()};
    config.cluster_prefix = "/cmcp/default/";
    config.cluster_lease = std::chrono::seconds(2);
    config.cluster_listen = "127.0.0.1:1";
    config.sandbox_node = node;
    config.link_key = "the key of all servers";
    return config;
}

}  // namespace cmcp::test
