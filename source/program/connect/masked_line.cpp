#include "connect/masked_line.hpp"

#include <algorithm>

namespace cmcp::connect {

std::string masked_line(std::string_view line)
{
    constexpr std::string_view scheme = "Bearer ";
    std::string masked;
    for (auto at = line.find(scheme); at != std::string_view::npos; at = line.find(scheme)) {
        const auto secret = at + scheme.size();
        const auto end = std::min(line.find_first_of("\"'\r\n", secret), line.size());
        const bool is_variable = secret < line.size() && line[secret] == '$';
        masked.append(line.substr(0, secret)).append(is_variable ? line.substr(secret, end - secret) : "…");
        line.remove_prefix(end);
    }
    return masked.append(line);
}

}  // namespace cmcp::connect
