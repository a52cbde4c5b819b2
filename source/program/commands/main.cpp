#include "commands/commands.hpp"
#include "config/config_error.hpp"
#include "config/setting.hpp"
#include "config/settings.hpp"
#include "images/image_fetcher.hpp"
#include "jsonrpc/write_json.hpp"
#include "local/network_helper.hpp"
#include "prebuilt/version.hpp"
#include "server/hidden_secrets.hpp"
#include "server/serve.hpp"

#include <boost/version.hpp>

#include <algorithm>
#include <exception>
#include <iomanip>
#include <iostream>

namespace {

using namespace cmcp;
using command::complete_role;

int show_version()
{
    std::cout << "container-mcp " CMCP_VERSION "\n"
              << "Boost " << BOOST_VERSION / 100000 << '.' << BOOST_VERSION / 100 % 1000 << ", built with "
              << __VERSION__ << '\n';
    return 0;
}

std::string origin_of(const loaded_settings& loaded, std::string_view name)
{
    const auto origin = loaded.origins.find(name);
    return origin == loaded.origins.end() ? "default" : origin->second;
}

std::string shown_value(const loaded_settings& loaded, const setting& entry)
{
    const std::string value = entry.print(loaded.values);
    return entry.secret && !value.empty() ? "***" : value;
}

void print_settings_json(const loaded_settings& loaded)
{
    json::object all;
    for (const auto& entry : setting_table()) {
        json::object row;
        row["value"] = shown_value(loaded, entry);
        row["origin"] = origin_of(loaded, entry.name);
        row["description"] = entry.description;
        row["topic"] = entry.topic;
        if (entry.live) row["live"] = true;
        all[entry.name] = std::move(row);
    }
    for (const auto& each : loaded.values.upstreams)
        all["upstream." + each.name] = json::object{{"value", each.shown()}, {"origin", each.origin}};
    std::cout << jsonrpc::write_json(all) << '\n';
}

void print_settings_table(const loaded_settings& loaded)
{
    std::size_t width = 0;
    for (const auto& entry : setting_table()) width = std::max(width, entry.name.size());
    for (const auto& entry : setting_table()) {
        std::cout << std::left << std::setw(static_cast<int>(width)) << entry.name << "  " << shown_value(loaded, entry)
                  << "  (" << origin_of(loaded, entry.name) << ")\n";
    }
    for (const auto& each : loaded.values.upstreams)
        std::cout << std::setw(static_cast<int>(width)) << "upstream." + each.name << "  " << each.shown() << "  ("
                  << each.origin << ")\n";
}

int show_config(const loaded_settings& loaded, bool json)
{
    json ? print_settings_json(loaded) : print_settings_table(loaded);
    return 0;
}

int complete_words(const command::command_line& line)
{
    command::show_completions(line.completing);
    try {
        return command::complete_names(load_settings(line.sources), line.completing);
    } catch (const config_error&) {  // they are told where a command is run
        return 0;
    }
}

int run(const command::command_line& line, int argc, char** argv)
{
    if (line.command == "version") return show_version();
    if (line.command == "completion") return command::show_completion_script(line.shell);
    if (line.command == complete_role) return complete_words(line);
    if (line.command == "run")
        throw config_error("run has no settings of the server: container-mcp run [OPTIONS] -- COMMAND");
    const loaded_settings loaded = load_settings(line.sources);
    const command::own_start again{{argv, argv + argc}, line.sources.variables};
    command::hide_secrets(argc, argv, loaded.secret_variables);
    if (line.command == "config") return show_config(loaded, line.json);
    if (line.command == "doctor") return command::doctor(loaded, line.json);
    if (line.command == "health") return command::health(loaded, line.live);
    if (line.command == "image") return command::images(loaded, line.image, line.json);
    if (line.command == "audit") return command::audits(loaded, line.audit, line.json);
    if (line.command == "key") return command::keys(loaded, line.identity, line.json);
    if (line.command == "principal") return command::principals(loaded, line.identity, line.json);
    if (line.command == "quota") return command::quota(loaded, line.identity, line.json);
    if (line.command == "secret") return command::secrets(loaded, line.secret, line.json);
    if (line.command == "backup") return command::back_up(loaded, line.sources, line.backup, line.json);
    if (line.command == "restore") return command::restore(loaded, line.backup, line.json);
    if (line.command == "connect")
        return command::connect_client(loaded, line.connect, line.sources.variables, line.json);
    if (line.command == "exec") return command::exec(loaded, line.exec);
    if (line.command == "shell") return command::shell(loaded, line.exec);
    if (line.command == "cp") return command::copy(loaded, line.copy);
    if (line.command == "logs") return command::logs(loaded, line.logs);
    if (line.command == "call") return command::call_tool(loaded, line.call);
    if (command::is_admin_command(line.command))
        return command::administer(loaded, line.command, line.admin, line.json);
    if (line.command == "stdio") return command::stdio(loaded, again);
    return command::serve(loaded, line.sources);
}

}  // namespace

int main(int argc, char** argv)
{
    const std::string_view first = argc > 1 ? argv[1] : "";
    if (first == fetcher_role) return serve_image_fetch();
    try {
        if (first == "run") return command::run_locally(argv + 1);
        if (first == sandbox::network_role) return command::serve_network_of_run();
        return run(command::parse_command_line(argc, argv), argc, argv);
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
