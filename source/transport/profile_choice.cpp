#include "transport/profile_choice.hpp"

namespace cmcp {

std::string profile_of(const http_request& request)
{
    return request.query.empty() ? std::string() : request.parameter("profile").value_or("");
}

std::optional<http_reply> refuse_profile(const http_request& request, const tool_registry& tools)
{
    const auto name = profile_of(request);
    if (name.empty() || tools.profiles().knows(name)) return std::nullopt;
    return error_reply(
        400, "There is no profile \"" + name.substr(0, 100) + "\"; the profiles are " + tools.profiles().names() + ".");
}

}  // namespace cmcp
