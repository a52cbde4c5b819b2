#pragma once

#include "async/asio.hpp"
#include "sandboxes/sandbox_activities.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// The permission to reach a port of a sandbox from outside, for whoever has its token.
struct port_link {
    std::string owner;    ///< principal
    std::string sandbox;  ///< id
    std::uint16_t port = 0;
    double expires = 0;  ///< seconds since 1970
    std::string token;   ///< characters of [a-z0-9_.-]
};

/// The links that are valid now: at most one a port. A token is signed with a key of this object's life and names
/// sandbox, port and end; the owner is signed, too. A link ends with its time, its withdrawal and this object; the
/// connections through it end with it. Io thread only.
class port_links {
public:
    static constexpr std::size_t most_of_sandbox = 32;
    static constexpr std::size_t most_uses = 64;  ///< connections through one link at once

    explicit port_links(asio::any_io_executor executor);

    /// Replaces the port's former link. Throws sandbox_error (QuotaExceeded) above most_of_sandbox.
    port_link show(std::string owner, std::string sandbox, std::uint16_t port, std::chrono::seconds life);

    bool withdraw(const std::string& sandbox, std::uint16_t port);  ///< false: there was none
    void withdraw_all(const std::string& sandbox);
    std::vector<port_link> of(const std::string& sandbox) const;

    /// The link of a token, when it is valid.
    std::optional<port_link> find(std::string_view token) const;

    /// A connection through the link, which ends with it. False: there are too many.
    bool use(const port_link& by, std::weak_ptr<sandbox_activities::entry> connection);

    void end_uses();  ///< of all links

private:
    using place = std::pair<std::string, std::uint16_t>;
    struct kept_link {
        port_link link;
        std::unique_ptr<asio::steady_timer> end;
        std::vector<std::weak_ptr<sandbox_activities::entry>> uses;
    };
    std::string sign(const port_link& unsigned_link, std::string_view named) const;
    void end_in_time(const place& of, kept_link& link, std::chrono::seconds life);

    asio::any_io_executor executor_;
    std::string key_;
    std::shared_ptr<std::map<place, kept_link>> links_ = std::make_shared<std::map<place, kept_link>>();
};

}  // namespace cmcp
