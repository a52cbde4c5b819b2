#pragma once

#include "rest/admin_routes.hpp"

namespace cmcp {

struct cluster;

/// /admin/cluster and below. `all`: null where this server is alone, which the answers then say. Before
/// add_admin_routes(), which takes the rest of /admin. It must outlive the routes.
void add_cluster_routes(router& routes, const admin_pages_ptr& self, cluster* all);

/// POST /member/take?sandbox=<handle> and /member/changed?list=<tools or prompts>, for the members' port alone: {"yes":
/// true} or false. The name of the member that asks is that of its certificate. `all` must outlive the routes.
void add_member_routes(router& routes, cluster& all);

}  // namespace cmcp
