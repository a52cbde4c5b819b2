#include "mcp/session.hpp"

namespace cmcp {

void session::cancel_all()
{
    // A copy: a request that ends takes itself out of the map.
    const auto running = in_flight;
    for (const auto& [id, signal] : running) signal->emit(asio::cancellation_type::terminal);
}

}  // namespace cmcp
