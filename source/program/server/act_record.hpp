#pragma once

#include "audit/journal.hpp"

#include <memory>
#include <string>

namespace cmcp {
struct settings;
}  // namespace cmcp

namespace cmcp::command {

/// An act of administration by a command: the server that runs records it, or the command itself where none does.
class act_record {
public:
    /// Before the act, for instance "key create". Throws config_error where the act could not be recorded and
    /// AUDIT_REQUIRED is set; without that standard error tells it.
    act_record(const settings& config, std::string method);

    /// After the act: what it concerned, without secrets.
    void done(const std::string& concerns);

private:
    bool is_wanted() const;
    bool server_records() const;
    void warn(const std::string& why) const;

    const settings& config_;
    std::string method_;
    bool by_server_ = false;
    std::unique_ptr<audit::journal> own_;  // null: the server's, or there is no audit
};

}  // namespace cmcp::command
