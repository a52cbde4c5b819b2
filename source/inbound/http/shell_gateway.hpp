#pragma once

#include "async/asio.hpp"
#include "http/file_gateway.hpp"
#include "identity/login.hpp"
#include "jsonrpc/json.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// A shell for one connection. Its end hangs the shell up.
class gateway_shell {
public:
    virtual ~gateway_shell() = default;

    /// The next output of the terminal, at most `most` bytes. The shell's programs wait while nobody reads. Empty: the
    /// shell has ended.
    virtual awaitable<std::string> read(std::size_t most) = 0;
    virtual awaitable<bool> type(std::string bytes) = 0;  ///< false: the shell has ended, or does not read
    virtual void resize(std::uint16_t columns, std::uint16_t rows) = 0;
    virtual bool signal(std::string_view name) = 0;  ///< INT, QUIT or TSTP to the foreground; false: no such signal
    virtual void hang_up() = 0;
    virtual json::object end() const = 0;  ///< {exit_code, cause}; empty: it lives
};

/// Shells in sandboxes for a transport that moves their bytes without the protocol. Sees only what belongs to the
/// principal of the login. Throws gateway_error.
class shell_gateway {
public:
    virtual ~shell_gateway() = default;

    /// `sandbox`: id or name.
    virtual awaitable<std::unique_ptr<gateway_shell>> open(login_ptr who, std::string sandbox, std::uint16_t columns,
                                                           std::uint16_t rows) = 0;
};

}  // namespace cmcp
