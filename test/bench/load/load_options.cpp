#include "load/load_options.hpp"

namespace cmcp::load {

std::string load_options::target() const
{
    if (transport == transport::stdio) return command.front();
    std::string addresses;
    for (const auto& each : servers) addresses.append(addresses.empty() ? "" : ", ").append(each.url());
    return addresses;
}

std::string_view newest_revision(transport over)
{
    switch (over) {
        case transport::sse:
            return "2024-11-05";
        case transport::stateless:
            return "2026-07-28";
        case transport::streamable:
        case transport::stdio:
            break;
    }
    return "2025-11-25";
}

}  // namespace cmcp::load
