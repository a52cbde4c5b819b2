#pragma once

#include "async/event.hpp"
#include "sandbox/native_backend.hpp"
#include "wire/launcher_protocol.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace cmcp::sandbox {

/// A request to the launcher: a run, a list of cells, or a socket. `arrived` is notified once the answer is there.
struct pending_run {
    event arrived;
    std::optional<run_result> result;
    std::optional<std::vector<cell_state>> cells{};
    std::optional<opened_socket> socket{};
};

/// The server's end of the conversation with the launcher: sends packets, hands each `ended` to its run, starts the
/// launcher again when it is gone. Reads the socket only while a run is in flight or a cell has doors, so an idle
/// backend is no work for the io_context.
class native_backend::link : public std::enable_shared_from_this<link> {
public:
    link(asio::any_io_executor executor, options settings);
    ~link();

    void adopt(launcher_process started);
    void start_if_gone();  ///< throws std::system_error

    void shut_down();  ///< ends the launcher, its runs and their waits; nothing can be started afterwards

    std::uint64_t next_id() { return ++last_id_; }
    std::shared_ptr<pending_run> expect(std::uint64_t id);
    void forget(std::uint64_t id);

    /// Queues a packet; the descriptors are owned until it is sent.
    void send(std::string bytes, std::vector<unique_fd> descriptors = {});

    /// The launcher's last message about its zygote, JSON; empty: none yet.
    const std::string& zygote_state();
    const options& settings() const { return options_; }
    awaitable<> wait_for_packet();

    std::size_t losses_lately();  ///< how often the launcher has ended within the last minute

    void serve_doors(doors_handler handler);
    void read_packets();  ///< those that are there

    const std::string& facts() const { return facts_; }  ///< the launcher's first message, JSON
    int pid() const { return process_ ? process_->pid : -1; }
    const asio::any_io_executor& executor() const { return executor_; }

private:
    bool must_listen() const { return !pending_.empty() || (!with_doors_.empty() && on_doors_); }
    void listen();
    void note_zygote(std::string state);
    void on_readable(const boost::system::error_code& error);
    void take(packet message);
    void take_cells(cells_message answer);
    void take_socket(packet message);
    void take_doors(packet message);
    void end_doors();
    std::shared_ptr<pending_run> find(std::uint64_t id) const;
    void flush();
    void stop_listening_when_idle();
    void lose_launcher();
    void end_pending(const std::string& error);
    void end_launcher();

    asio::any_io_executor executor_;
    options options_;
    std::optional<launcher_process> process_;
    asio::posix::stream_descriptor socket_;
    std::map<std::uint64_t, std::shared_ptr<pending_run>> pending_;
    std::deque<packet> outbox_;
    doors_handler on_doors_;
    std::set<cell_name> with_doors_;  ///< cells that have them
    std::string facts_;
    std::string zygote_state_;
    std::deque<std::chrono::steady_clock::time_point> losses_;
    std::uint64_t last_id_ = 0;
    bool shut_ = false;
    bool stops_ = false;  ///< the launcher ends because of a signal
    bool listening_ = false;
    bool waiting_to_write_ = false;
};

}  // namespace cmcp::sandbox
