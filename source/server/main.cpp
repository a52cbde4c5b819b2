#include "server/command_line.hpp"
#include "server/commands.hpp"

#include <exception>
#include <iostream>

namespace {

using namespace cmcp;

int run(const command::command_line& asked)
{
    if (asked.command == "version") return command::show_version();
    const loaded_settings loaded = load_settings(asked.sources);
    if (asked.command == "config") return command::show_config(loaded, asked.json);
    if (asked.command == "doctor") return command::doctor(loaded, asked.json);
    if (asked.command == "health") return command::health(loaded, asked.live);
    if (asked.command == "stdio") return command::stdio(loaded);
    return command::serve(loaded);
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run(command::parse_command_line(argc, argv));
    } catch (const command::early_exit& e) {
        return e.code;
    } catch (const config_error& e) {
        std::cerr << "container-mcp: " << e.what() << '\n';
        return 2;
    } catch (const std::exception& e) {
        std::cerr << "container-mcp: " << e.what() << '\n';
        return 1;
    }
}
