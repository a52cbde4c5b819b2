#include "transport/accepted_types.hpp"

#include "http/http_request.hpp"
#include "text/ascii.hpp"

#include <string_view>

namespace cmcp {

accepted_types parse_accept(const std::optional<std::string_view>& header)
{
    if (!header || trimmed(*header).empty()) return {};
    accepted_types accepted{.json = false, .events = false};
    for (std::string_view rest = *header; !rest.empty();) {
        auto part = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        const auto type = trimmed(part.substr(0, part.find(';')));
        auto is = [type](std::string_view name) { return equal_ignoring_case(type, name); };
        accepted.json = accepted.json || is("application/json") || is("application/*") || is("*/*");
        accepted.events = accepted.events || is("text/event-stream") || is("text/*") || is("*/*");
    }
    return accepted;
}

}  // namespace cmcp
