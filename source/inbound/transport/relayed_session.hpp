#pragma once

#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// A client of `container-mcp stdio`, as the process that relays it sees it: which requests the server has not
/// answered, and which lines the next server must be sent again when this one ends. Batches are taken member by member.
class relayed_session {
public:
    /// A line of the client is about to be sent to the server, has been sent, or could not be sent.
    void expect(std::string_view line);
    void keep(std::string_view line);
    void forget(std::string_view line);

    /// A line of the server. False: it answers a line that was sent again, so the client must not see it.
    bool concerns_client(std::string_view line);

    /// The server has ended: the answers to the requests that it leaves open, in their order. Those to be sent again
    /// stay open.
    std::vector<std::string> lost();

    /// The lines that the next server must be sent first: `initialize`, `notifications/initialized`, the level of the
    /// log and subscriptions.
    std::vector<std::string> to_send_again();

private:
    struct kept_line {
        std::string what;  ///< a later line takes the place of an earlier one with the same
        std::string text;
        std::string id;  ///< as JSON; empty: a notification
    };

    void keep_as(std::string what, std::string_view line, std::string id);

    std::vector<kept_line> kept_;
    std::vector<std::string> open_;   // ids as JSON
    std::vector<std::string> again_;  // of them, those whose answers the client has had
};

}  // namespace cmcp
