#pragma once

#include "async/asio.hpp"
#include "cluster/member_trust.hpp"
#include "config/cluster_member.hpp"
#include "streams/http_connection.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct cluster_settings;

/// what() is a sentence that names the member and says why it cannot be reached.
struct member_unreachable : std::runtime_error {
    explicit member_unreachable(const std::string& sentence, bool has_whole_request = false)
        : std::runtime_error(sentence), was_asked(has_whole_request)
    {
    }
    bool was_asked;  ///< it may have done what it was asked for
};

/// A connection for one request to a member.
struct member_route {
    std::unique_ptr<http_connection> over;
    std::shared_ptr<void> under_way{};  ///< until its end, break_off() of the member that it leads to reaches it
    std::string past{};  ///< the member, where the connection leads to another one, which passes the request on to it
};

/// The sentence of a member_unreachable where the way past another one was no way either.
std::string unreachable_past(const std::string& member);

/// The sentence where the member takes no request any more, and has not begun this one.
std::string about_to_stop(const std::string& member);

/// In a request to a member: the name of the one that it is to be passed on to, once. One that cannot reach it either
/// answers 421 with that name (member_place_field). So does the member itself where it is about to stop.
inline constexpr std::string_view member_past_field = "cmcp-member-past";

/// Connections to members, over TLS in which each side proves by its certificate that it is one. Connections that
/// are good for another request wait for it. Io thread only.
class member_links {
public:
    /// `config` must outlive this. Throws config_error.
    member_links(asio::any_io_executor executor, const cluster_settings& config);

    /// An open connection on which nothing is under way, or one past the member `third`, where this server cannot
    /// connect to the other one. Throws member_unreachable.
    awaitable<member_route> take(cluster_member to);

    /// A connection that does not come from those that wait, and is not given back. Throws member_unreachable.
    awaitable<std::unique_ptr<http_connection>> connect(cluster_member to,
                                                        std::chrono::seconds limit = time_to_connect);

    /// Members that are there and stay: no connection to others waits for another request, and what cannot go directly
    /// goes past one of them.
    void use(std::function<std::vector<cluster_member>()> staying) { staying_ = std::move(staying); }

    /// Ends the connections that wait to members which do not stay (RFC 9112, 9.6), so that they may end theirs.
    void close_to_others();

    /// The certificates that count now for a connection to another part of the cluster.
    std::shared_ptr<boost::asio::ssl::context> trust() { return trust_.context(); }

    /// A connection of connect() on which a request is under way to the member, for as long as what this gives lives.
    std::shared_ptr<void> noted(const std::string& member, http_connection& over);

    /// Ends what is under way to a member, which is not registered any more: it stands still, or its machine does.
    void break_off(const std::string& member);

    /// After a whole answer. One past another member, or to one that does not stay, is closed.
    void give_back(const cluster_member& to, member_route route);

private:
    static constexpr std::chrono::seconds time_to_connect{3};

    awaitable<std::unique_ptr<http_connection>> waiting_or_new(cluster_member to);
    bool stays(const std::string& member) const;
    awaitable<> shake_hands(byte_stream& stream, const cluster_member& to, std::chrono::seconds limit);

    member_trust trust_;
    std::function<std::vector<cluster_member>()> staying_;
    std::map<std::string, std::chrono::steady_clock::time_point>
        cut_off_;  // to where no connection was had, until then
    std::shared_ptr<idle_connections> waiting_;
    std::shared_ptr<std::multimap<std::string, http_connection*>> under_way_;
};

}  // namespace cmcp
