#pragma once

#include "http/cluster_gateway.hpp"
#include "http/route.hpp"

namespace cmcp {

// /admin/cluster, for administrators. `all` null: the server `node` is alone.

awaitable<> give_cluster(exchange& x, cluster_gateway* all, std::string_view node);
awaitable<> move_to_other(exchange& x, cluster_gateway* all);  ///< ?sandbox=…&to=…; without `to`: to one with room
awaitable<> drain(exchange& x, cluster_gateway* all, bool on);
awaitable<> rebalance(exchange& x, cluster_gateway* all);

}  // namespace cmcp
