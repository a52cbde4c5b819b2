#pragma once

#include "launcher/cell.hpp"
#include "wire/launcher_protocol.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// A start that cannot begin yet.
struct waiting_start {
    start_message start;
    std::vector<unique_fd> descriptors;
};

/// A socket of a cell's network, on its way to the server, or why there is none.
struct handed_socket {
    socket_answer answer;
    unique_fd socket;
};

/// A cell that lives on when its programs end, until it is told to end or breaks a limit. Its first process makes a run
/// of each start (cell/cell_server.hpp).
class live_cell {
public:
    /// Of the shape that the request has, without a process: launch() or attach() gives it one. Throws step_failed.
    live_cell(const shared_parts& parts, const run_request& request);

    const cell_name& name() const { return name_; }
    const std::shared_ptr<cell>& own() const { return cell_; }

    void launch();  ///< clones the launcher, so every program is executed; throws step_failed
    void attach(
        cloned child);  ///< of a loaded interpreter, which Python runs become; throws, then the cell must be ended
    bool has_process() const { return cell_->pidfd() >= 0; }
    bool interprets() const { return interprets_; }
    const std::string& image() const { return image_; }

    std::vector<waiting_start> waiting;        ///< for the process
    std::vector<std::uint64_t> asked_for_end;  ///< questions that its end answers

    void use() { used_ = std::chrono::steady_clock::now(); }  ///< a run begins
    steady_time used() const { return used_; }

    /// Why a run of this request cannot be in it, a sentence; empty: it can.
    std::string obstacle(const run_request& request) const;

    /// A cell that was made in a full workspace only lets programs remove files, also once there is room.
    bool is_outdated() const { return cell_->began_full() && !cell_->is_as_full_as_before(); }

    bool hear();  ///< reads the first process's messages; false: no more come
    const std::string& failure() const { return failure_; }  ///< of a step before the first run; empty: none

    /// The answer is one of take_sockets().
    void ask_socket(const socket_question& question);
    std::vector<handed_socket> take_sockets() { return std::exchange(handed_, {}); }
    void refuse_sockets();  ///< all that are still wanted

    void end();  ///< nothing starts in it any more
    bool ends() const { return ends_ || cell_->killed_for(); }

    cell_state state() const;

private:
    struct wanted_socket {
        std::uint64_t question;
        cell_socket kind;
    };
    void hear_socket(std::uint64_t question, int error, std::vector<unique_fd> descriptors);
    void refuse_socket(std::uint64_t question, const std::string& why);

    cell_name name_;
    std::string image_;
    program_view programs_;
    std::string first_program_;
    std::shared_ptr<cell> cell_;
    std::string failure_;
    std::vector<wanted_socket> wanted_;
    std::vector<handed_socket> handed_;
    bool interprets_ = false;
    bool ends_ = false;
    steady_time used_ = std::chrono::steady_clock::now();
};

}  // namespace cmcp::sandbox
