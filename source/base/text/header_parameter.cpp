#include "text/header_parameter.hpp"

#include "text/ascii.hpp"

namespace cmcp {

std::optional<std::string> header_parameter(std::string_view value, std::string_view name)
{
    for (std::size_t at = value.find(';'); at != std::string_view::npos; at = value.find(';', at + 1)) {
        auto rest = value.substr(at + 1);
        const auto equals = rest.find('=');
        if (equals == std::string_view::npos || !equal_ignoring_case(trimmed(rest.substr(0, equals)), name)) continue;
        rest = trimmed(rest.substr(equals + 1));
        if (!rest.starts_with('"')) return std::string(trimmed(rest.substr(0, rest.find(';'))));
        std::string text;
        for (std::size_t i = 1; i < rest.size() && rest[i] != '"'; ++i) {
            if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
            text += rest[i];
        }
        return text;
    }
    return std::nullopt;
}

}  // namespace cmcp
