#include "commands/attached_program.hpp"
#include "commands/commands.hpp"
#include "commands/remote_choice.hpp"
#include "config/config_error.hpp"

#include <utility>

namespace cmcp::command {

namespace {

std::string sandbox_in(const exec_words& line) { return line.words.empty() ? std::string() : line.words.front(); }

awaitable<int> attach_in(server_client& server, std::string word, std::vector<std::string> argv, bool terminal)
{
    const auto where = co_await find_sandbox(server, std::move(word));
    attached_program what{query_part(where), std::move(argv), terminal};
    const int code = co_await attach(server, std::move(what));
    co_return code;
}

void check_terminal(const char* command)
{
    if (has_terminal()) return;
    throw config_error(std::string(command) +
                       " needs a terminal at its input and output; without one use `container-mcp exec SANDBOX -- "
                       "COMMAND`, which passes pipes and files on");
}

}  // namespace

int exec(const loaded_settings& loaded, const exec_words& line)
{
    if (line.argv.empty() || line.words.size() > 1)
        throw config_error("exec takes the command behind --: container-mcp exec [SANDBOX] -- COMMAND [ARGUMENT…]");
    if (line.terminal) check_terminal("exec -t");
    return with_server(loaded.values, line.server, [&line](server_client& server) {
        return attach_in(server, sandbox_in(line), line.argv, line.terminal);
    });
}

int shell(const loaded_settings& loaded, const exec_words& line)
{
    if (line.words.size() > 1)
        throw config_error("shell starts bash; `container-mcp exec -t SANDBOX -- COMMAND` starts another program");
    check_terminal("shell");
    return with_server(loaded.values, line.server,
                       [&line](server_client& server) { return attach_in(server, sandbox_in(line), {}, true); });
}

}  // namespace cmcp::command
