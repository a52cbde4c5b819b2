#pragma once

#include "identity/login.hpp"
#include "mcp/caller.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

struct sandbox_settings;

/// The rights of the programs in sandboxes to call tools: those of the run's caller, for as long as the run lasts. A
/// program shows its run's ticket at the door of its own cell; elsewhere the ticket is worth nothing. Programs of one
/// sandbox can read each other's tickets, so all of them have only the scopes that each caller has had who has run
/// something there. Io thread only.
class tool_rights {
public:
    /// The environment's name of a ticket.
    static constexpr std::string_view variable = "CONTAINER_MCP_TOOLS";

    /// `config` must outlive this. Whether any tools may be called does not change.
    explicit tool_rights(const sandbox_settings& config);

    /// `of_sandbox` tells what the programs of a sandbox may reach, for the web tools that they call.
    void lead_out_by(std::function<std::shared_ptr<egress_ticket>(const std::string& sandbox)> of_sandbox)
    {
        way_out_ = std::move(of_sandbox);
    }

    bool offered() const { return offered_; }

    /// Ends with its last copy. Empty: no tools are offered.
    class ticket {
    public:
        ticket() = default;
        std::string text() const { return held_ ? *held_ : std::string(); }

    private:
        friend class tool_rights;
        std::shared_ptr<const std::string> held_;
    };

    /// For a run of this caller in the sandbox.
    ticket give(const caller& who, const std::string& sandbox);

    /// This caller runs something there without a ticket of its own, such as by keys that it types in a shell.
    void limit_to(const caller& who, const std::string& sandbox);

    /// Whose calls the ticket of a run in this sandbox makes; null: it is none, or its run has ended.
    login_ptr login_of(std::string_view ticket, const std::string& sandbox) const;

    /// Counts a call. False: the run has made all that it may make.
    bool take_call(std::string_view ticket);

    void forget(const std::string& sandbox) { scopes_.erase(sandbox); }

private:
    struct right {
        login_ptr who;
        std::string sandbox;
        std::size_t calls = 0;
    };
    using rights = std::map<std::string, right, std::less<>>;

    calling_code_ptr place_of(const std::string& sandbox) const;

    const sandbox_settings& config_;
    std::function<std::shared_ptr<egress_ticket>(const std::string& sandbox)> way_out_;
    const bool offered_;
    std::shared_ptr<rights> given_ = std::make_shared<rights>();  ///< by ticket
    std::map<std::string, scope_set> scopes_;                     ///< that all callers of a sandbox had
};

}  // namespace cmcp
