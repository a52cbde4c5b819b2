#pragma once

namespace cmcp {

class router;
struct settings;

namespace command {

/// GET /ui/clients: the files and lines by which each client that `container-mcp connect` knows reaches this server, at
/// the address that the caller used; where callers have names, or with `with_key`, with a place for a key. `config`
/// must outlive the route.
void add_connect_lines(router& routes, const settings& config);

}  // namespace command

}  // namespace cmcp
