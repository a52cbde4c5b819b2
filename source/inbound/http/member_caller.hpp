#pragma once

#include "identity/login.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// The caller of a request that a member of a cluster passes on to another one. Members alone are believed, whose
/// certificates prove that they are.
struct member_caller {
    login_ptr who;        ///< null: the route is open, and nobody was asked for credentials
    std::string address;  ///< of the client
    std::string host;     ///< of this server as the client names it
    bool secure = false;  ///< the client uses https

    // Of one message of MCP alone, which the other member has taken from its client:
    bool of_message = false;
    std::string revision{};   ///< that the client speaks
    std::string profile{};    ///< as caller::profile
    std::string server{};     ///< as caller::address
    bool is_program = false;  ///< as peer::is_program
};

inline constexpr std::string_view member_caller_field = "cmcp-member-caller";

/// In an answer 421 of a member to another one: the name of the member that has the sandbox. Programs in sandboxes
/// cannot send it.
inline constexpr std::string_view member_place_field = "cmcp-member-place";

/// As the value of the header field: JSON in base64url.
std::string written(const member_caller& caller);

/// Null: the text is no such value, or names a caller as none can be called (can_be_principal).
std::shared_ptr<const member_caller> read_member_caller(std::string_view text);

}  // namespace cmcp
