#include "egress/egress_policy.hpp"

#include "config/settings.hpp"
#include "egress/address_rules.hpp"

#include <algorithm>
#include <stdexcept>

namespace cmcp {
namespace {

// WHATWG Fetch "bad ports": a program that chooses the bytes of a request must not reach these services.
constexpr std::uint16_t bad_ports[] = {
    1,    7,    9,    11,   13,   15,   17,   19,   20,   21,   22,   23,   25,   37,   42,   43,   53,
    69,   77,   79,   87,   95,   101,  102,  103,  104,  109,  110,  111,  113,  115,  117,  119,  123,
    135,  137,  139,  143,  161,  179,  389,  427,  465,  512,  513,  514,  515,  526,  530,  531,  532,
    540,  548,  554,  556,  563,  587,  601,  636,  989,  990,  993,  995,  1719, 1720, 1723, 2049, 3659,
    4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080};

bool is_bad_port(std::uint16_t port)
{
    return std::find(std::begin(bad_ports), std::end(bad_ports), port) != std::end(bad_ports);
}

egress_verdict allowed(std::string rule) { return {true, std::move(rule), {}}; }

egress_verdict refused(std::string rule, std::string sentence) { return {false, std::move(rule), std::move(sentence)}; }

egress_verdict not_listed(const host& who, std::uint16_t port)
{
    return refused("WEB_ALLOWED_DOMAINS",
                   who.with_port(port) +
                       " is refused: WEB_ALLOWED_DOMAINS of this server does not allow it. Use a site that it "
                       "allows.");
}

std::vector<egress_entry> read_entries(const std::vector<std::string>& texts, const char* setting)
{
    std::vector<egress_entry> entries;
    for (const auto& text : texts) {
        try {
            entries.push_back(egress_entry::parse(text));
        } catch (const std::invalid_argument& problem) {
            throw config_error(std::string(setting) + ": " + problem.what());
        }
    }
    return entries;
}

void check_opened(const std::vector<egress_entry>& entries)
{
    for (const auto& entry : entries) {
        if (entry.is == egress_entry::kind::any)
            throw config_error(
                "WEB_ALLOWED_PRIVATE: * would open every private address; name the hosts or blocks of "
                "addresses that are meant.");
        if (entry.refuses)
            throw config_error(
                "WEB_ALLOWED_PRIVATE: entries with ! have no meaning here; put them into WEB_ALLOWED_DOMAINS.");
    }
}

// Negative entries alone allow everything else.
std::vector<egress_entry> with_others(std::vector<egress_entry> list)
{
    const bool only_negative = std::all_of(list.begin(), list.end(), [](const auto& e) { return e.refuses; });
    if (only_negative && !list.empty()) list.push_back(egress_entry());
    return list;
}

enum class listing : std::uint8_t { absent, listed, listed_with_port };

listing look_up_entry(const std::vector<egress_entry>& list, const host& who, std::uint16_t port)
{
    listing best = listing::absent;
    for (const auto& entry : list) {
        if (!entry.names(who, port)) continue;
        if (entry.refuses) return listing::absent;
        best = std::max(best, entry.port == port ? listing::listed_with_port : listing::listed);
    }
    return best;
}

egress_verdict bad_port(const host& who, std::uint16_t port)
{
    return refused("port", who.with_port(port) + " is refused: port " + std::to_string(port) +
                               " belongs to another service than the web.");
}

}  // namespace

egress_policy::egress_policy(std::vector<egress_entry> domains, std::vector<egress_entry> opened)
    : domains_(with_others(std::move(domains))), opened_(std::move(opened))
{
}

egress_policy egress_policy::of_sandbox(std::vector<egress_entry> allow, std::vector<egress_entry> ceiling,
                                        std::vector<egress_entry> opened)
{
    egress_policy policy(std::move(allow), std::move(opened));
    policy.ceiling_ = with_others(std::move(ceiling));
    return policy;
}

const char* egress_policy::opening_setting() const
{
    return ceiling_ ? "SANDBOX_NETWORK_PRIVATE" : "WEB_ALLOWED_PRIVATE";
}

bool egress_policy::names_port(const host& who, std::uint16_t port) const
{
    const bool own = look_up_entry(domains_, who, port) == listing::listed_with_port;
    return own && (!ceiling_ || look_up_entry(*ceiling_, who, port) == listing::listed_with_port);
}

egress_verdict egress_policy::judge_listed(const host& who, std::uint16_t port, const std::string& shown) const
{
    if (look_up_entry(*ceiling_, who, port) == listing::absent)
        return refused("SANDBOX_NETWORK_ALLOWED", shown +
                                                      " is refused: SANDBOX_NETWORK_ALLOWED of this server does not "
                                                      "allow it, so no sandbox reaches it.");
    if (look_up_entry(domains_, who, port) == listing::absent)
        return refused("network", shown +
                                      " is refused: it is not in the sandbox's network. set_network, with it in "
                                      "allow, lets programs of the sandbox reach it.");
    if (is_bad_port(port) && !names_port(who, port)) return bad_port(who, port);
    return allowed("network");
}

egress_verdict egress_policy::judge(const host& who) const
{
    std::vector<std::uint16_t> ports{443, 80};
    for (const auto* list : {&domains_, &*ceiling_})
        for (const auto& entry : *list)
            if (entry.port != 0) ports.push_back(entry.port);
    for (const auto port : ports)
        if (auto verdict = judge_listed(who, port, who.text()); verdict.allowed) return verdict;
    return judge_listed(who, ports.front(), who.text());
}

egress_policy egress_policy::from_settings(const settings& config, const std::vector<std::string>& opened)
{
    auto names = config.web_allowed_private;
    names.insert(names.end(), opened.begin(), opened.end());
    auto entries = read_entries(names, "WEB_ALLOWED_PRIVATE");
    check_opened(entries);
    return egress_policy(read_entries(config.web_allowed_domains, "WEB_ALLOWED_DOMAINS"), std::move(entries));
}

bool egress_policy::opened_by_name(const host& who, std::uint16_t port) const
{
    return std::any_of(opened_.begin(), opened_.end(), [&](const auto& entry) { return entry.names(who, port); });
}

// Only an entry of the address itself opens a metadata address.
bool egress_policy::opened(const host& who, const boost::asio::ip::address& address, std::uint16_t port) const
{
    const bool metadata = is_metadata_address(address);
    return std::any_of(opened_.begin(), opened_.end(), [&](const auto& entry) {
        const bool whole =
            entry.is == egress_entry::kind::range && entry.prefix == (entry.network.is_v4() ? 32u : 128u);
        if (metadata && !whole) return false;
        return entry.holds(address, port) || entry.names(who, port);
    });
}

egress_verdict egress_policy::judge(const host& who, std::uint16_t port) const
{
    if (ceiling_) {
        auto verdict = judge_listed(who, port, who.with_port(port));
        return verdict.allowed && who.address ? judge(who, *who.address, port) : verdict;
    }
    bool listed = false, port_named = false;
    for (const auto& entry : domains_) {
        if (!entry.names(who, port)) continue;
        if (entry.refuses) return not_listed(who, port);
        listed = true;
        port_named = port_named || entry.port == port;
    }
    const bool is_opened = opened_by_name(who, port);
    if (!listed && !is_opened) return not_listed(who, port);
    if (is_bad_port(port) && !port_named && !is_opened) return bad_port(who, port);
    return who.address ? judge(who, *who.address, port)
                       : allowed(is_opened ? "WEB_ALLOWED_PRIVATE" : "WEB_ALLOWED_DOMAINS");
}

egress_verdict egress_policy::judge(const host& who, const boost::asio::ip::address& address, std::uint16_t port) const
{
    const auto refuses = [&](const egress_entry& entry) { return entry.refuses && entry.holds(address, port); };
    if (std::any_of(domains_.begin(), domains_.end(), refuses)) return not_listed(who, port);
    if (ceiling_ && std::any_of(ceiling_->begin(), ceiling_->end(), refuses))
        return judge_listed(host{address.to_string(), address}, port, address.to_string());
    const std::string range(special_range(address));
    if (range.empty()) return allowed("public");
    if (opened(who, address, port)) return allowed(opening_setting());
    const std::string leads = who.address ? "" : " leads to " + address.to_string() + ", which";
    return refused(range, who.with_port(port) + leads + " is refused: that address is not public (" + range +
                              "). Only public addresses may be reached; the operator can open others with " +
                              opening_setting() + ".");
}

}  // namespace cmcp
