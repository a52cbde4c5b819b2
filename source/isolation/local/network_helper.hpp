#pragma once

#include "local/denial.hpp"
#include "posix/unique_fd.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The first argument of container-mcp by which it serves the network of a local sandbox, on descriptor 3: a packet
/// socket with a network_order, answered by a denial for each refused connection, and closed once all have been said.
inline constexpr const char* network_role = "__network";

struct network_order {
    std::vector<std::string> allowed, denied;  ///< hosts
};

template <class Wire>
void fields(Wire& wire, wired<Wire, network_order>& of)
{
    wire(of.allowed, of.denied);
}

/// The process that serves it, started from the program beside this one.
class network_helper {
public:
    /// Throws bad_policy where a host cannot be read, step_failed where there is no such program.
    explicit network_helper(const network_order& order);
    network_helper(const network_helper&) = delete;
    network_helper& operator=(const network_helper&) = delete;
    ~network_helper();

    const std::vector<std::uint16_t>& ports() const { return ports_; }  ///< that names are to have
    void serve(std::vector<unique_fd> doors);                           ///< of the sandbox
    std::vector<denial> finish();                                       ///< what was refused

private:
    unique_fd link_;
    pid_t process_ = 0;
    std::vector<std::uint16_t> ports_;
};

}  // namespace cmcp::sandbox
