#include "load/load_options.hpp"

namespace cmcp::load {

std::string load_options::target() const { return transport == transport::stdio ? command.front() : server.url(); }

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
