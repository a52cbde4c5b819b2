#pragma once

#include "cell/cell_orders.hpp"
#include "launcher/cell.hpp"
#include "launcher/program.hpp"
#include "wire/launcher_protocol.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// A socket of a cell's network, on its way to the server, or why there is none.
struct handed_socket {
    socket_answer answer;
    unique_fd socket;
};

/// A cell with its first process (cell/cell_server.hpp), which makes the programs that stand by in it, and with the
/// starts that wait for one. It serves one run, or lasts until it is ended or breaks a limit. In a lasting one
/// programs stand by as the latest starts suggest.
class live_cell {
public:
    /// Of the shape that the request has, without a process: launch() or attach() gives it one. It lasts where the
    /// request names it, and nothing is probed. Throws step_failed.
    live_cell(const shared_parts& parts, const run_request& request, bool probe);

    const cell_name& name() const { return name_; }
    const std::string& shape() const { return shape_; }  ///< which of the cells of that name
    const std::shared_ptr<cell>& own() const { return cell_; }
    bool lasts() const { return cell_->lasts(); }

    void launch();              ///< clones the launcher, so every program is executed; throws step_failed
    void attach(cloned child);  ///< of a loaded interpreter, which Python runs become; throws, then it must be ended
    bool has_process() const { return cell_->pidfd() >= 0; }
    bool interprets() const { return interprets_; }
    const std::string& image() const { return image_; }

    std::vector<waiting_start> waiting;        ///< for the process
    std::vector<std::uint64_t> asked_for_end;  ///< requests that its end answers

    /// In a cell that does not last a program stands by for a start like this, once it has a process and none waits.
    void expect(const start_message& start) { expected_ = start; }
    void prepare();   ///< it has a process now
    bool is_ready();  ///< a program stands by

    /// A program that stands by and suits the start, or a new one; it is a run's from then on. Throws step_failed.
    program take_program(const start_message& start, bool loaded);

    void use(const start_message& start, bool loaded);  ///< a run begins
    steady_time used() const { return used_; }

    /// Why a run of this request cannot be in it, a sentence; empty: it can.
    std::string obstacle(const run_request& request) const;

    /// A cell that was made in a full workspace only lets programs remove files, also once there is room.
    bool is_outdated() const { return cell_->began_full() && !cell_->is_as_full_as_before(); }

    bool hear();  ///< reads the first process's messages; false: no more come
    const std::string& failure() const { return failure_; }  ///< of a step before the first program; empty: none
    std::vector<program_end> take_ends() { return std::exchange(ends_of_runs_, {}); }
    struct missing_program {
        std::uint32_t number;
        std::string why;
    };
    std::vector<missing_program> take_missing() { return std::exchange(missing_, {}); }
    struct refused_call {
        std::uint32_t program;
        std::string what;
    };
    std::vector<refused_call> take_refused() { return std::exchange(refused_, {}); }
    bool may_hold() const { return may_hold_; }  ///< false: a shell ended that was to be held

    /// The answer is one of take_sockets().
    void ask_socket(const socket_request& request);
    std::vector<handed_socket> take_sockets() { return std::exchange(handed_, {}); }
    void refuse_sockets();  ///< all that are still wanted

    bool awaits_doors() const { return awaits_doors_; }  ///< until then no program may begin
    std::vector<unique_fd> take_doors();                 ///< once they have come; they are the server's then
    bool gave_doors() const { return gave_doors_; }

    void end();  ///< nothing starts in it any more
    bool ends() const { return ends_ || cell_->killed_for(); }

    steady_time next_event() const;
    void tick(steady_time now, steady_time latest_start);  ///< `latest_start`: in any cell

    cell_state state() const;

private:
    struct wanted_socket {
        std::uint64_t request;
        cell_socket kind;
    };

    void hear(child_says says, class wire_reader& message, std::vector<unique_fd>& descriptors);
    void hear_program(class wire_reader& message);
    void hear_end(const program_end& end);
    void lose_program(program& lost);
    void hear_socket(std::uint64_t request, int error, std::vector<unique_fd> descriptors);
    void refuse_socket(std::uint64_t request, const std::string& why);
    void hear_doors(std::vector<unique_fd> descriptors);

    program order(program_order wanted);  ///< its number is given here
    void stand_by_in_quiet(steady_time now, steady_time latest_start);
    void stand_by();
    void end_other_shells();
    void rest();
    void hear_programs();
    bool has(bool held) const;
    void tell_standby();

    cell_name name_;
    std::string shape_;
    std::string image_;
    program_view view_;
    std::string first_program_;
    int library_;
    std::vector<std::uint16_t> ports_;  ///< of its doors
    bool tools_;                        ///< it has the door for tools
    std::size_t files_;                 ///< tells its own files from others
    std::shared_ptr<cell> cell_;
    std::string failure_;

    std::uint32_t last_number_ = 0;  ///< of a program
    std::vector<program> programs_;  ///< that stand by
    std::vector<program_end> ends_of_runs_;
    std::vector<missing_program> missing_;
    std::vector<refused_call> refused_;
    std::optional<start_message> expected_, expected_shell_;
    bool may_hold_ = true;
    steady_time stand_by_at_ = steady_time::max();
    steady_time rest_at_ = steady_time::max();

    std::vector<wanted_socket> wanted_;
    std::vector<handed_socket> handed_;
    std::vector<unique_fd> doors_;
    bool awaits_doors_;
    bool gave_doors_ = false;
    bool interprets_ = false;
    bool ends_ = false;
    steady_time used_ = std::chrono::steady_clock::now();
};

}  // namespace cmcp::sandbox
