#include "transport/profile_choice.hpp"

namespace cmcp {

std::string profile_of(const http_request& request)
{
    const auto own = request.who ? request.who->profile : std::string();
    return request.query.empty() ? own : request.filled_parameter("profile").value_or(own);
}

// A client of an authorization server can ask for more scopes when it meets a tool that needs them.
scope_set shown_scopes(const http_request& request)
{
    return !request.who || request.who->from == login::source::issuer ? scope_set::all() : request.who->scopes;
}

caller caller_of(const http_request& request)
{
    caller who;
    who.principal = request.principal;
    who.scopes = shown_scopes(request);
    who.profile = profile_of(request);
    if (request.who) who.code = request.who->code;
    return who;
}

std::optional<http_reply> refuse_profile(const http_request& request, const tool_registry& tools)
{
    const auto name = profile_of(request);
    if (name.empty() || tools.profiles().knows(name)) return std::nullopt;
    return error_reply(
        400, "There is no profile \"" + name.substr(0, 100) + "\"; the profiles are " + tools.profiles().names() + ".");
}

}  // namespace cmcp
