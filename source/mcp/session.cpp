#include "mcp/session.hpp"

namespace cmcp {

void session::cancel_all()
{
    // A copy: a request that ends takes itself out of the map.
    const auto running = in_flight;
    for (const auto& [id, ends] : running) ends->cancel();
}

}  // namespace cmcp
