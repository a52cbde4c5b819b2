#include "server/command_line.hpp"
#include "server/commands.hpp"

#include <boost/version.hpp>

#include <exception>
#include <iostream>

namespace {

using namespace cmcp;

int show_version()
{
    std::cout << "container-mcp " CMCP_VERSION "\n"
              << "Boost " << BOOST_VERSION / 100000 << '.' << BOOST_VERSION / 100 % 1000 << ", built with "
              << __VERSION__ << '\n';
    return 0;
}

int run(const command::command_line& line)
{
    if (line.command == "version") return show_version();
    const loaded_settings loaded = load_settings(line.sources);
    if (line.command == "config") return command::show_config(loaded, line.json);
    if (line.command == "doctor") return command::doctor(loaded, line.json);
    if (line.command == "health") return command::health(loaded, line.live);
    if (line.command == "stdio") return command::stdio(loaded);
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
