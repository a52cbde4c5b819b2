#include "mcp/session.hpp"

#include "mcp/running_request.hpp"

namespace cmcp {

void session::cancel_all()
{
    // A copy, because a request that ends leaves its session.
    std::vector<std::shared_ptr<running_request>> running;
    for (auto* request : in_flight) running.push_back(request->shared_from_this());
    for (const auto& request : running) request->cancel();
}

}  // namespace cmcp
