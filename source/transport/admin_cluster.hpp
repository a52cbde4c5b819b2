#pragma once

#include "http/cluster_gateway.hpp"
#include "http/route.hpp"

namespace cmcp {

// Changes below /admin/cluster, for administrators. `all` null: the server is alone.

awaitable<> move_to_other(exchange& x, cluster_gateway* all);  ///< ?sandbox=…&to=…; without `to`: to one with room
awaitable<> drain(exchange& x, cluster_gateway* all, bool on);
awaitable<> rebalance(exchange& x, cluster_gateway* all);

}  // namespace cmcp
