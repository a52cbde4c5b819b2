#include "load/stdio_session.hpp"

#include <boost/asio/write.hpp>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

extern char** environ;

namespace cmcp::load {

struct stdio_session::pipes : std::enable_shared_from_this<stdio_session::pipes> {
    pipes(asio::any_io_executor executor, int to, int from, stdio_session& user)
        : input(executor, to), output(executor, from), session(&user)
    {
    }

    void write(std::string line)
    {
        unsent += line;
        if (!writing) write_rest();
    }

    void write_rest()
    {
        writing = !unsent.empty();
        if (!writing) return;
        sending = std::exchange(unsent, {});
        asio::async_write(input, asio::buffer(sending),
                          [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                              if (!error && self->session != nullptr) self->write_rest();
                          });
    }

    asio::posix::stream_descriptor input;  // of the child
    asio::posix::stream_descriptor output;
    stdio_session* session;  // null once it has shut
    std::array<char, 64 * 1024> buffer{};
    std::string unsent, sending;
    bool writing = false;
};

namespace {

constexpr int patience_ms = 2000;

std::pair<unique_fd, unique_fd> make_pipe()
{
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return {};
    return {unique_fd(ends[0]), unique_fd(ends[1])};
}

}  // namespace

stdio_session::stdio_session(session_host& host, role kind, std::size_t home) : client_session(host, kind, home) {}

stdio_session::~stdio_session() { shut(); }

void stdio_session::connect()
{
    auto [child_input, to] = make_pipe();
    auto [from, child_output] = make_pipe();
    if (!to || !from) return broken({"no pipe", std::strerror(errno)});
    if (int error = spawn(std::move(child_input), std::move(child_output)))
        return broken({"no process", std::strerror(error)});
    pipes_ = std::make_shared<pipes>(host_.executor, to.release(), from.release(), *this);
    partial_.clear();
    read_more();
    send_line(initialize_text(offered_revision()));
}

int stdio_session::spawn(unique_fd input, unique_fd output)
{
    std::vector<char*> argv;
    for (const auto& word : host_.options.command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
    int error = ::posix_spawnp(&child_, argv[0], &actions, nullptr, argv.data(), environ);
    if (error != 0) child_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

void stdio_session::read_more()
{
    pipes_->output.async_read_some(asio::buffer(pipes_->buffer),
                                   [self = pipes_](boost::system::error_code error, std::size_t size) {
                                       auto* session = self->session;
                                       if (session == nullptr) return;
                                       if (error) return session->broken({"server ended", {}});
                                       session->host_.counted.in += size;
                                       session->take({self->buffer.data(), size});
                                       if (self->session != nullptr) session->read_more();
                                   });
}

void stdio_session::take(std::string_view bytes)
{
    for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
        auto text = bytes.substr(0, end);
        if (partial_.empty()) {
            line(text);
        } else {
            auto whole = std::exchange(partial_, {}).append(text);
            line(whole);
        }
        bytes.remove_prefix(end + 1);
    }
    partial_.append(bytes);
}

void stdio_session::line(std::string_view text)
{
    if (ready()) return message(text);
    if (!opening() || skim_message(text).id != 0) return;
    if (!agreed(text)) return;
    send_line(std::string(initialized_text));
    opened();
}

void stdio_session::transmit(std::string text, const operation&) { send_line(std::move(text)); }

void stdio_session::send_line(std::string text)
{
    text += '\n';
    host_.counted.out += text.size();
    pipes_->write(std::move(text));
}

// A stdio server ends at the end of its input; a server that goes on is killed.
void stdio_session::shut()
{
    if (pipes_) {
        pipes_->session = nullptr;
        pipes_->input.close();
        pipes_->output.close();
        pipes_ = nullptr;
    }
    if (child_ < 0) return;
    unique_fd handle(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
    pollfd ended{handle.get(), POLLIN, 0};
    if (::poll(&ended, 1, patience_ms) <= 0) ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
}

}  // namespace cmcp::load
