#include "networks/network_lists.hpp"

#include "config/config_error.hpp"
#include "config/sandbox_settings.hpp"
#include "log/log.hpp"
#include "wire/run_request.hpp"

#include <set>
#include <string>

namespace cmcp {
namespace {

constexpr std::size_t most_ports = sandbox::most_doors;

void check_opened_to_sandboxes(const std::vector<egress_entry>& entries)
{
    for (const auto& entry : entries)
        if (entry.is == egress_entry::kind::any || entry.refuses)
            throw config_error("SANDBOX_NETWORK_PRIVATE: name the hosts or blocks of addresses that are meant.");
}

std::vector<std::uint16_t> ports_of(const std::vector<egress_entry>& entries)
{
    std::set<std::uint16_t> all{80, 443};
    for (const auto& entry : entries)
        if (entry.port != 0 && !entry.refuses) all.insert(entry.port);
    if (all.contains(sandbox::first_proxy_port))
        throw config_error("SANDBOX_NETWORK_ALLOWED: port " + std::to_string(sandbox::first_proxy_port) +
                           " is that of the sandbox's own proxy.");
    if (all.size() > most_ports)
        throw config_error("SANDBOX_NETWORK_ALLOWED: names more than " + std::to_string(most_ports) +
                           " ports together with 80 and 443.");
    return {all.begin(), all.end()};
}

}  // namespace

network_lists network_lists::of(const sandbox_settings& config)
{
    network_lists lists;
    const setting_types::words none{"none"};
    if (config.sandbox_network != none) lists.usual = config.sandbox_network;
    const auto usual = read_entries(lists.usual, "SANDBOX_NETWORK");
    lists.ceiling = read_entries(config.sandbox_network_allowed, "SANDBOX_NETWORK_ALLOWED");
    if (lists.ceiling.empty()) lists.ceiling = usual;
    lists.opened = read_entries(config.sandbox_network_private, "SANDBOX_NETWORK_PRIVATE");
    check_opened_to_sandboxes(lists.opened);
    lists.ports = ports_of(lists.ceiling);
    return lists;
}

std::vector<egress_entry> recorded_entries(const std::string& sandbox, const std::vector<std::string>& hosts)
try {
    return read_entries(hosts, "network");
} catch (const config_error& unreadable) {
    log::error("sandbox_network_unreadable",
               {{"sandbox", sandbox}, {"reason", unreadable.what()}, {"advice", "set its network anew (set_network)"}});
    return {};
}

}  // namespace cmcp
