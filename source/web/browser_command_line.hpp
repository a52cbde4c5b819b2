#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cmcp {

/// The command line of the browser: no window, no services of its own, nothing kept, everything through the proxy. Each
/// switch is the browser's own (content/public/common/content_switches.cc and its siblings).
std::vector<std::string> browser_command_line(const std::string& program, const std::string& profile,
                                              std::uint16_t proxy_port);

/// The managed policy (chromeenterprise.google/policies) in JSON: a second lock on what the command line says, and on
/// schemes that lead into the machine. `certificates`: PEM, certificates that are trusted beside the browser's own.
std::string browser_policy(const std::string& certificates);

}  // namespace cmcp
