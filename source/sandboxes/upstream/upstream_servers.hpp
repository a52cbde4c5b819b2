#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "upstream/upstream_problem.hpp"
#include "upstream/upstream_progress.hpp"
#include "upstream/upstream_state.hpp"
#include "upstream/upstream_tool.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

class blocking_pool;
class sandbox_runner;
class upstream_server;
struct settings;

namespace sandbox {
class backend;
}

/// Trouble with a server, or with its list of tools; a sentence.
struct upstream_complaint {
    std::string server;
    std::string problem;
};

/// The other MCP servers of config.toml ([upstream.NAME]). Each is asked when it is needed first. What a server says is
/// data: its lists are cleaned and bounded, and whatever it does harms calls to itself alone. Io thread only.
class upstream_servers {
public:
    /// Everything must outlive this. `runs`: null where sandboxes are not offered, then servers with a command do not
    /// work. Throws config_error: a URL that cannot be used.
    upstream_servers(asio::any_io_executor executor, const settings& config, sandbox::backend& backend,
                     blocking_pool& pool, sandbox_runner* runs);
    upstream_servers(const upstream_servers&) = delete;
    upstream_servers& operator=(const upstream_servers&) = delete;
    ~upstream_servers();

    /// The name whose sandboxes the servers with a command have. No caller can have it.
    static constexpr const char* principal = "(upstream)";
    static std::string sandbox_name(const std::string& server) { return "upstream-" + server; }

    /// The tools of all servers that the principal may use, by server in the order of config.toml. Lists are kept until
    /// the server says that they changed, at most five minutes. Servers that fail, or do not answer for ten seconds
    /// when nothing is known of them, have none: problems() says why.
    awaitable<std::vector<upstream_tool>> tools(std::string principal);

    /// The same, as code sees them.
    awaitable<std::vector<std::shared_ptr<const json::object>>> described_tools(std::string principal);

    /// Whether the tool changes nothing, as its server says, of which alone the list is waited for. Nothing: there is
    /// no such tool for this principal.
    awaitable<std::optional<bool>> reads_only(std::string principal, std::string server, std::string tool);

    /// The CallToolResult; an error of the tool is one, too. Throws upstream_problem: no such server or tool for this
    /// principal, no answer in time, an answer that is none. A cancelled call is called off at the server.
    awaitable<json::object> call(std::string principal, std::string server, std::string tool, json::object arguments,
                                 upstream_progress_handler on_progress);

    std::vector<upstream_complaint> problems(const std::string& principal) const;  ///< of its servers, the latest
    std::vector<upstream_state> states() const;

    awaitable<> stop();  ///< ends sessions and processes; calls fail from then on

private:
    std::shared_ptr<upstream_server> server_for(const std::string& principal, const std::string& name) const;
    std::vector<std::shared_ptr<upstream_server>> servers_of(const std::string& principal) const;

    std::vector<std::shared_ptr<upstream_server>> servers_;
};

}  // namespace cmcp
