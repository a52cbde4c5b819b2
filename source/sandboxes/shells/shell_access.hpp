#pragma once

#include "http/shell_gateway.hpp"
#include "shells/shell_manager.hpp"

#include <memory>
#include <string>

namespace cmcp {

/// Shells in sandboxes for connections of transports. Members throw gateway_error.
class shell_access final : public shell_gateway {
public:
    /// Both must outlive this and its shells.
    shell_access(shell_manager& shells, sandbox_manager& sandboxes) : shells_(shells), sandboxes_(sandboxes) {}

    awaitable<std::unique_ptr<gateway_shell>> open(login_ptr who, std::string sandbox, std::uint16_t columns,
                                                   std::uint16_t rows) override;

private:
    shell_manager& shells_;
    sandbox_manager& sandboxes_;
};

}  // namespace cmcp
