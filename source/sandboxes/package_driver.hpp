#pragma once

#include <string_view>

namespace cmcp {

/// The Python program that installs packages in a sandbox: it lets connections to a port of the run's own loopback
/// through its descriptor 3 (network/channel_relay.hpp), starts the command of its arguments with that port as its
/// proxy, and writes
/// {"before": {name: version}, "after": {…}} to descriptor 4. PROXY_LOGIN is "user:password" of the proxy.
extern const std::string_view package_driver;

}  // namespace cmcp
