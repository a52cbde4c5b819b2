#pragma once

#include <functional>
#include <memory>
#include <string>

namespace cmcp {

class egress_ticket;

/// The sandbox whose code calls a tool, and how far beyond that sandbox the call may reach (SANDBOX_TOOLS_REACH_OUT).
struct calling_code {
    std::string sandbox{};         ///< its handle
    bool network = false;          ///< web tools follow the server's rules alone, and not the network of the sandbox
    bool sandboxes = false;        ///< the caller's other sandboxes may be used, and new ones made
    bool default_sandbox = false;  ///< so may the caller's default one

    /// The network of the sandbox as it is at this moment, which bounds the web tools that its code calls.
    std::function<std::shared_ptr<egress_ticket>()> way_out{};
};

/// Whether a call from there may use what belongs to this sandbox of the caller.
inline bool may_use(const calling_code& from, const std::string& sandbox)
{
    return from.sandboxes || sandbox == from.sandbox;
}

using calling_code_ptr = std::shared_ptr<const calling_code>;

}  // namespace cmcp
