#pragma once

#include "async/canceller.hpp"
#include "async/event.hpp"
#include "async/task_group.hpp"
#include "sandboxes/sandbox_runner.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::e2b {

inline constexpr std::uint16_t daemon_port = 49983;

/// The daemons of the data plane (container-mcp-envd), one in each sandbox that was spoken to. One is a run in the
/// sandbox's cell and ends with it. The server believes nothing that it says. Everything given to the constructor must
/// outlive this. Io thread only.
class daemons {
public:
    using variables = std::vector<std::pair<std::string, std::string>>;

    daemons(asio::any_io_executor executor, sandbox::backend& cells, sandbox_runner& runs)
        : executor_(executor), cells_(cells), runs_(runs), tasks_(executor)
    {
    }

    /// Returns once the sandbox's daemon listens, or has found its port taken. `all`: of the environment of one that
    /// starts. Throws sandbox_error.
    awaitable<> need(caller who, sandbox_record where, variables all);

    bool lives_in(const std::string& id) const { return living_.contains(id); }
    std::vector<std::string> living() const;  ///< sandboxes that have one
    awaitable<> end(std::string id);          ///< the sandbox stops
    awaitable<> stop();

private:
    struct daemon {
        bool listens = false;
        std::string problem;  // it has ended
        event changed;
        std::shared_ptr<canceller> ends = std::make_shared<canceller>();
    };
    void start(const caller& who, const sandbox_record& where, variables all);
    awaitable<> run(std::string id, std::shared_ptr<daemon> one, sandbox::run_request request,
                    tool_rights::ticket right);
    static awaitable<> listen(std::shared_ptr<daemon> one, asio::any_io_executor executor,
                              std::shared_ptr<unique_fd> to);

    asio::any_io_executor executor_;
    sandbox::backend& cells_;
    sandbox_runner& runs_;
    std::map<std::string, std::shared_ptr<daemon>> living_;  // by sandbox
    task_group tasks_;
};

}  // namespace cmcp::e2b
