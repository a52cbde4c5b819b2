#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "sandboxes/job_manager.hpp"
#include "sandboxes/sandbox_runner.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// A program that runs whenever its sandbox does, kept with the sandbox's record.
struct sandbox_service {
    std::string name;
    std::string command;  ///< for bash
    std::string job{};    ///< that ran it last
};

std::vector<sandbox_service> services_in(const sandbox_record& record);
std::string services_text(const std::vector<sandbox_service>& all);

/// The services of sandboxes. One is a job without a place among the jobs, so its output can be read; it starts again
/// when its program ends, and with the next use of the sandbox after that was stopped, paused, copied or moved. An idle
/// service does not keep its sandbox alive. Its programs call no tools. Throws sandbox_error. Everything given to the
/// constructor must outlive this. Io thread only.
class sandbox_services {
public:
    sandbox_services(asio::any_io_executor executor, sandbox::backend& cells, sandbox_runner& runs, job_manager& jobs);

    /// From now on the sandbox has this service, in place of one of the same name, and it starts.
    awaitable<job_view> declare(caller who, sandbox_record where, sandbox_service wanted, std::string request);

    bool come_up(const std::string& id) const;  ///< some have been started just now, and may not listen yet

    /// {name, command, state, job_id, exit_code, restarts} of each.
    json::array described(const sandbox_record& where) const;

    awaitable<> stop();

private:
    struct live;
    using key = std::pair<std::string, std::string>;  // sandbox and name

    void start_missing(const sandbox_record& where);
    std::shared_ptr<live> make_live(const std::string& sandbox, const std::string& name);
    void remove(const std::shared_ptr<live>& one);
    awaitable<> start_again(std::shared_ptr<live> one, sandbox_record where, sandbox_service what);
    awaitable<job_view> begin(std::shared_ptr<live> one, caller who, sandbox_record where, sandbox_service what,
                              std::string request);
    awaitable<tool_result> serve(std::shared_ptr<live> one, sandbox_record where, sandbox_service what, request_io& io);
    awaitable<> wait_before_restart(std::shared_ptr<live> one, std::chrono::seconds pause);
    awaitable<sandbox::run_result> run_once(std::shared_ptr<live> one, sandbox_record where, std::string command);
    awaitable<> run(std::shared_ptr<live> one, sandbox::run_request request);
    void keep(const std::string& id, const std::vector<sandbox_service>& all);
    awaitable<> end(std::string id);  // the sandbox stops
    awaitable<> end_one(std::shared_ptr<live> one);
    void forget(const std::string& sandbox, const std::string& job);  // that was killed by its owner

    asio::any_io_executor executor_;
    sandbox::backend& cells_;
    sandbox_runner& runs_;
    job_manager& jobs_;
    std::map<key, std::shared_ptr<live>> live_;
    task_group tasks_;
};

}  // namespace cmcp
