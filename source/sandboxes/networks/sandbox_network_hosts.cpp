#include "config/settings.hpp"
#include "networks/sandbox_network.hpp"
#include "runs/sandbox_error.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

// The part of sandbox_network that reads and writes the hosts of records.
namespace cmcp {

namespace {

constexpr std::size_t most_hosts = 100;
constexpr std::size_t longest_entry = 260;
constexpr const char* ask_entry = "?";  // of a record, and never a host

// As much of a list as a sentence takes.
std::string shown_hosts(const std::vector<std::string>& all)
{
    constexpr std::size_t most_shown = 20;
    const std::vector<std::string> shown(all.begin(),
                                         all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most_shown)));
    return joined(shown, ", ") +
           (all.size() > most_shown ? " and " + std::to_string(all.size() - most_shown) + " more" : "");
}

// The entries behind the second mark.
std::vector<std::string_view> answered_part(const std::vector<std::string_view>& entries)
{
    const auto first = std::ranges::find(entries, ask_entry);
    if (first == entries.end()) return {};
    const auto second = std::find(first + 1, entries.end(), ask_entry);
    if (second == entries.end()) return {};
    return {second + 1, entries.end()};
}

}  // namespace

// A host that can never be reached is refused at once; more is judged when something connects.
void sandbox_network::check(const std::string& entry) const
{
    const auto refuse = [](const std::string& why) { throw sandbox_error("InvalidArgument", "network: " + why); };
    egress_entry read;
    try {
        if (entry.size() > longest_entry || entry.find(',') != std::string::npos)
            throw std::invalid_argument("\"" + entry.substr(0, longest_entry) + "\" is no entry.");
        read = egress_entry::parse(entry);
    } catch (const std::invalid_argument& problem) {
        refuse(problem.what());
    }
    if (read.is != egress_entry::kind::exact || read.refuses) return;
    const auto policy = egress_policy::of_sandbox({read}, lists_.ceiling, lists_.opened);
    const host named{read.name, {}};
    const auto verdict = read.port != 0 ? policy.judge(named, read.port) : policy.judge(named);
    if (!verdict.allowed)
        refuse(entry + " is not among the hosts that sandboxes of this server may reach: SANDBOX_NETWORK_ALLOWED is " +
               shown_hosts(config_.sandbox_network_allowed) + ".");
}

std::string sandbox_network::hosts_of(const caller& who, const std::optional<network_wish>& wish) const
{
    const bool is_confined = who.code && !who.code->network;
    const bool may = who.scopes.covers(scope::web) && !is_confined;
    if (!wish) return may && offered() && backend_.can_have_doors() ? joined(lists_.usual, ",") : std::string();
    if (wish->allow.empty() && !wish->ask) return {};
    if (is_confined)
        throw sandbox_error("Forbidden",
                            "Code in a sandbox gives no sandbox a network: its caller does, with create_sandbox or "
                            "set_network. The operator lets code do it with SANDBOX_TOOLS_REACH_OUT=network.");
    if (!may)
        throw sandbox_error("NotAvailable", "A network for a sandbox needs the scope mcp:web, which you do not have.");
    if (!offered())
        throw sandbox_error("NotAvailable",
                            "Sandboxes of this server have no network; its operator can allow hosts with "
                            "SANDBOX_NETWORK_ALLOWED. install_packages_in_sandbox brings packages.");
    if (!backend_.can_have_doors())
        throw sandbox_error("NotAvailable", "This server's way to isolate sandboxes (" + std::string(backend_.name()) +
                                                ") gives them no network.");
    if (wish->allow.size() > most_hosts)
        throw sandbox_error("InvalidArgument",
                            "network: at most " + std::to_string(most_hosts) + " hosts can be allowed.");
    if (wish->ask && config_.sandbox_network_ask.count() == 0)
        throw sandbox_error("NotAvailable",
                            "This server asks nobody about networks (SANDBOX_NETWORK_ASK is 0): leave \"ask\" out and "
                            "name the hosts in \"allow\".");
    for (const auto& entry : wish->allow) check(entry);
    auto entries = wish->allow;
    if (wish->ask) entries.insert(entries.begin(), ask_entry);
    return joined(entries, ",");
}

bool sandbox_network::asks(const sandbox_record& of) const
{
    return config_.sandbox_network_ask.count() > 0 && asks_in(of);
}

bool sandbox_network::asks_in(const sandbox_record& record)
{
    const auto entries = split(record.network, ',');
    return std::ranges::find(entries, ask_entry) != entries.end();
}

std::vector<std::string> sandbox_network::hosts_in(const sandbox_record& record)
{
    std::vector<std::string> all;
    for (const auto each : split(record.network, ','))
        if (!each.empty() && each != ask_entry) all.emplace_back(each);
    return all;
}

sandbox_network::answers sandbox_network::answers_of(const sandbox_record& of) const
{
    answers all;
    for (const auto each : answered_part(split(of.network, ','))) all.for_sandbox.emplace_back(each);
    all.for_runs = questions_.allowed_for_runs(of.id);
    all.refused = questions_.refused(of.id);
    return all;
}

// The second mark is before what answers have allowed.
bool sandbox_network::keep(const std::string& id, const std::string& place)
{
    auto record = store_.find_of_any(id);
    if (!record || !asks_in(*record) || hosts_in(*record).size() >= most_hosts) return false;
    const bool is_first = answered_part(split(record->network, ',')).empty();
    store_.set_network(id, record->network + (is_first ? "," + std::string(ask_entry) + "," : ",") + place);
    return true;
}

}  // namespace cmcp
