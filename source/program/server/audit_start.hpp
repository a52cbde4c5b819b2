#pragma once

#include "audit/writer.hpp"
#include "facilities/landlock.hpp"

#include <filesystem>
#include <memory>
#include <string_view>

namespace cmcp {
struct settings;
}  // namespace cmcp

namespace cmcp::command {

/// The folder of the audit, absolute.
std::filesystem::path audit_folder(const settings& config);
audit::journal_options journal_of(const settings& config);

/// Opens the audit of a server; null where the settings want none. Throws config_error.
std::unique_ptr<audit::writer> open_audit(const settings& config);

/// The places that its thread reaches, and no other thread where they lie outside of SANDBOX_ROOT.
sandbox::landlock_rules places_of_audit(const settings& config);

/// An audit that records go to while the object lives, from a record `start` to a record `stop`. Null: there is none.
class audit_in_use {
public:
    audit_in_use(audit::writer* to, std::string_view program);
    audit_in_use(const audit_in_use&) = delete;
    audit_in_use& operator=(const audit_in_use&) = delete;
    ~audit_in_use();

private:
    audit::writer* to_;
};

}  // namespace cmcp::command
