#pragma once

#include "egress/host.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct web_settings;

/// An entry of WEB_ALLOWED_DOMAINS or WEB_ALLOWED_PRIVATE.
struct egress_entry {
    enum class kind { any, exact, subdomains, range };

    kind is = kind::any;
    std::string name;                  ///< exact, subdomains (without "*.")
    boost::asio::ip::address network;  ///< range: an address or a block of them
    unsigned prefix = 0;               ///< range: leading bits that count
    std::uint16_t port = 0;            ///< 0: every port
    bool refuses = false;              ///< written with a leading "!"

    /// `!`? then `*`, `example.com`, `*.example.com`, an address or a block `10.0.0.0/8`, then `:port`?.
    /// Throws std::invalid_argument with a sentence.
    static egress_entry parse(std::string_view text);

    bool names(const host& who, std::uint16_t to) const;  ///< by the name or address of the request
    bool holds(const boost::asio::ip::address& address, std::uint16_t to) const;
};

/// Throws config_error, which names the setting.
std::vector<egress_entry> read_entries(const std::vector<std::string>& texts, const std::string& setting);

/// Whether something may be reached, and the rule that decided.
struct policy_decision {
    bool allowed = false;
    std::string rule;      ///< short, for the audit line: "allowed", "loopback", "WEB_ALLOWED_DOMAINS"
    std::string sentence;  ///< why not, for the caller
    bool asks = false;     ///< refused, but the user may be asked to allow it
};

/// Decides which names and addresses may be reached. A name is judged before it is resolved, each of its addresses
/// after.
class egress_policy {
public:
    egress_policy() = default;  ///< every public address
    egress_policy(std::vector<egress_entry> domains, std::vector<egress_entry> opened);

    /// From WEB_ALLOWED_DOMAINS and WEB_ALLOWED_PRIVATE; `opened`: as further entries of the latter. Throws
    /// config_error.
    static egress_policy from_settings(const web_settings& config, const std::vector<std::string>& opened = {});

    /// For the code in a sandbox. `allow`, the sandbox's own list, and `ceiling`, the operator's, must both allow; a
    /// list without an entry that allows, allows nothing. An address is allowed by an entry of addresses in `allow`
    /// alone. A port of another service than the web must stand in an entry of both. `opened`: what may be reached
    /// though it is not public. `asks`: the user may be asked for a host that `ceiling` allows and `allow` does not
    /// name.
    static egress_policy of_sandbox(std::vector<egress_entry> allow, std::vector<egress_entry> ceiling,
                                    std::vector<egress_entry> opened, bool asks = false);

    /// Whether any port of the host may be reached; if none, the refusal is that of a port for which the user may be
    /// asked, or else of port 443.
    policy_decision judge(const host& who) const;

    /// Whether an entry that allows the host names this very port. The ceiling of a sandbox must name it, too; its
    /// entry * names every port of the web.
    bool names_port(const host& who, std::uint16_t port) const;

    /// Before anything is resolved: the lists of names, ports that never carry web traffic, addresses given literally.
    policy_decision judge(const host& who, std::uint16_t port) const;

    /// The list of names alone: what a use may ask for that another policy judges further.
    policy_decision judge_name(const host& who, std::uint16_t port) const;

    /// After resolution: the address that a connection would go to.
    policy_decision judge(const host& who, const boost::asio::ip::address& address, std::uint16_t port) const;

private:
    using entries = std::vector<egress_entry>;
    policy_decision judge_in_sandbox(const host& who, std::uint16_t port) const;
    bool may_ask(const host& who, std::uint16_t port) const;
    bool opened_by_name(const host& who, std::uint16_t port) const;
    bool opened(const host& who, const boost::asio::ip::address& address, std::uint16_t port) const;

    entries domains_{egress_entry{}};
    entries opened_;
    std::optional<entries> ceiling_;  ///< the policy is of a sandbox
    bool asks_ = false;
};

}  // namespace cmcp
