#pragma once

namespace cmcp {

class admin_gateway;
class router;
struct server_settings;

/// /admin/secrets: secrets without their values, for each caller those of its sandboxes; setting and removing them, for
/// administrators. Before add_admin_routes(), which takes the rest of /admin.
void add_secret_routes(router& routes, const server_settings& config, admin_gateway& server);

}  // namespace cmcp
