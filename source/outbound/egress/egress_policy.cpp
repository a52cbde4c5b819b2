#include "egress/egress_policy.hpp"

#include "config/config_error.hpp"
#include "config/web_settings.hpp"
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

policy_decision allowed(std::string rule) { return {true, std::move(rule), {}, false}; }

policy_decision refused(std::string rule, std::string sentence)
{
    return {false, std::move(rule), std::move(sentence), false};
}

policy_decision not_listed(const host& who, std::uint16_t port)
{
    return refused("WEB_ALLOWED_DOMAINS",
                   who.with_port(port) +
                       " is refused: WEB_ALLOWED_DOMAINS of this server does not allow it. Use a site that it "
                       "allows.");
}

policy_decision not_in_network(const host& who, std::uint16_t port)
{
    const std::string address = who.with_port(port);
    return refused("network", address +
                                  " is refused: it is not in the sandbox's network; allow it with set_network, "
                                  "\"allow\": [..., \"" +
                                  address + "\"].");
}

policy_decision above_ceiling(const host& who, std::uint16_t port)
{
    return refused(
        "SANDBOX_NETWORK_ALLOWED",
        who.with_port(port) + " is refused: the operator's SANDBOX_NETWORK_ALLOWED does not allow it to sandboxes.");
}

// `addressed`: an entry * does not stand for addresses.
bool list_allows(const std::vector<egress_entry>& list, const host& who, std::uint16_t port, bool addressed)
{
    bool listed = false;
    for (const auto& entry : list) {
        if (!entry.names(who, port)) continue;
        if (entry.refuses) return false;
        if (addressed && who.address && entry.is == egress_entry::kind::any) continue;
        listed = listed || entry.port == port || !is_bad_port(port);
    }
    return listed;
}

bool list_names_port(const std::vector<egress_entry>& list, const host& who, std::uint16_t port)
{
    return std::any_of(list.begin(), list.end(), [&](const auto& entry) {
        return !entry.refuses && entry.port == port && entry.names(who, port);
    });
}

bool list_refuses(const std::vector<egress_entry>& list, const boost::asio::ip::address& address, std::uint16_t port)
{
    return std::any_of(list.begin(), list.end(),
                       [&](const auto& entry) { return entry.refuses && entry.holds(address, port); });
}

void add_ports(std::vector<std::uint16_t>& ports, const std::vector<egress_entry>& list)
{
    for (const auto& entry : list)
        if (entry.port != 0) ports.push_back(entry.port);
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

}  // namespace

std::vector<egress_entry> read_entries(const std::vector<std::string>& texts, const std::string& setting)
{
    std::vector<egress_entry> entries;
    for (const auto& text : texts) {
        try {
            entries.push_back(egress_entry::parse(text));
        } catch (const std::invalid_argument& problem) {
            throw config_error(setting + ": " + problem.what());
        }
    }
    return entries;
}

egress_policy::egress_policy(std::vector<egress_entry> domains, std::vector<egress_entry> opened)
    : domains_(std::move(domains)), opened_(std::move(opened))
{
    // Negative entries alone allow everything else.
    const bool only_negative = std::all_of(domains_.begin(), domains_.end(), [](const auto& e) { return e.refuses; });
    if (only_negative && !domains_.empty()) domains_.push_back(egress_entry());
}

egress_policy egress_policy::from_settings(const web_settings& config, const std::vector<std::string>& opened)
{
    auto names = config.web_allowed_private;
    names.insert(names.end(), opened.begin(), opened.end());
    auto entries = read_entries(names, "WEB_ALLOWED_PRIVATE");
    check_opened(entries);
    return egress_policy(read_entries(config.web_allowed_domains, "WEB_ALLOWED_DOMAINS"), std::move(entries));
}

egress_policy egress_policy::of_sandbox(entries allow, entries ceiling, entries opened, bool asks)
{
    egress_policy policy;
    policy.domains_ = std::move(allow);
    policy.ceiling_ = std::move(ceiling);
    policy.opened_ = std::move(opened);
    policy.asks_ = asks;
    return policy;
}

policy_decision egress_policy::judge(const host& who) const
{
    // The last one is a port that no list names, as all those that are not in `ports`.
    std::vector<std::uint16_t> ports{443, 80, 65535};
    add_ports(ports, domains_);
    if (ceiling_) add_ports(ports, *ceiling_);
    add_ports(ports, opened_);
    auto refusal = judge(who, 443);
    for (const auto port : ports) {
        auto decision = judge(who, port);
        if (decision.allowed) return decision;
        if (decision.asks && !refusal.asks) refusal = std::move(decision);
    }
    return refusal;
}

bool egress_policy::names_port(const host& who, std::uint16_t port) const
{
    if (!list_names_port(domains_, who, port)) return false;
    if (!ceiling_ || list_names_port(*ceiling_, who, port)) return true;
    return !is_bad_port(port) && std::any_of(ceiling_->begin(), ceiling_->end(), [](const auto& entry) {
        return entry.is == egress_entry::kind::any && entry.port == 0 && !entry.refuses;
    });
}

// To ask for what is refused in any case would only trouble the user.
bool egress_policy::may_ask(const host& who, std::uint16_t port) const
{
    const bool of_this_machine = who.name == "localhost" || who.name.ends_with(".localhost");
    const auto refuses = [&](const auto& entry) { return entry.refuses && entry.names(who, port); };
    if (!asks_ || of_this_machine || std::any_of(domains_.begin(), domains_.end(), refuses)) return false;
    return !who.address || judge(who, *who.address, port).allowed;
}

// The operator's list comes first, because what it refuses no call can allow.
policy_decision egress_policy::judge_in_sandbox(const host& who, std::uint16_t port) const
{
    if (!list_allows(*ceiling_, who, port, false)) return above_ceiling(who, port);
    if (!list_allows(domains_, who, port, true)) {
        auto refusal = not_in_network(who, port);
        refusal.asks = may_ask(who, port);
        return refusal;
    }
    return who.address ? judge(who, *who.address, port) : allowed("network");
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

policy_decision egress_policy::judge_name(const host& who, std::uint16_t port) const
{
    if (ceiling_) return judge_in_sandbox(who, port);
    bool listed = false, port_named = false;
    for (const auto& entry : domains_) {
        if (!entry.names(who, port)) continue;
        if (entry.refuses) return not_listed(who, port);
        listed = true;
        port_named = port_named || entry.port == port;
    }
    const bool is_opened = opened_by_name(who, port);
    if (!listed && !is_opened) return not_listed(who, port);
    if (is_bad_port(port) && !port_named && !is_opened)
        return refused("port", who.with_port(port) + " is refused: port " + std::to_string(port) +
                                   " belongs to another service than "
                                   "the web.");
    return allowed(is_opened ? "WEB_ALLOWED_PRIVATE" : "WEB_ALLOWED_DOMAINS");
}

policy_decision egress_policy::judge(const host& who, std::uint16_t port) const
{
    auto decision = judge_name(who, port);
    const bool is_judged = ceiling_ || !decision.allowed || !who.address;
    return is_judged ? decision : judge(who, *who.address, port);
}

policy_decision egress_policy::judge(const host& who, const boost::asio::ip::address& address, std::uint16_t port) const
{
    if (ceiling_ && list_refuses(*ceiling_, address, port)) return above_ceiling(who, port);
    if (list_refuses(domains_, address, port)) return ceiling_ ? not_in_network(who, port) : not_listed(who, port);
    const std::string setting = ceiling_ ? "SANDBOX_NETWORK_PRIVATE" : "WEB_ALLOWED_PRIVATE";
    const std::string range(special_range(address));
    if (range.empty()) return allowed("public");
    if (opened(who, address, port)) return allowed(setting);
    const std::string leads = who.address ? "" : " leads to " + address.to_string() + ", which";
    return refused(range, who.with_port(port) + leads + " is refused: that address is not public (" + range +
                              "). Only public addresses may be reached; the operator can open others with " + setting +
                              ".");
}

}  // namespace cmcp
