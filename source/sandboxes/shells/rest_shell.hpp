#pragma once

namespace cmcp {

class request_guard;
class router;
class sandbox_manager;
class shell_manager;
class websocket_register;

/// The shells, the logins that are judged again while a shell lasts, and the sockets.
struct shell_sources {
    shell_manager& shells;
    sandbox_manager& sandboxes;
    const request_guard& logins;
    websocket_register& sockets;
};

/// GET /sandbox/shell?sandbox_id=…&cols=&rows=: a WebSocket on a shell in a sandbox. Binary messages are what is typed
/// and shown; text messages are orders in JSON (resize, signal). A page that names the protocol cmcp.shell hears as a
/// message {"error"} why it gets no shell, because a browser keeps refusals to itself. All must outlive the route.
void add_shell_route(router& routes, const shell_sources& from);

}  // namespace cmcp
