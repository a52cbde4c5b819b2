#include "server/act_record.hpp"

#include "audit/audit_error.hpp"
#include "audit/record_text.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/admin_socket.hpp"
#include "server/audit_start.hpp"

#include <cstdlib>
#include <iostream>

#include <pwd.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

std::string user_name()
{
    if (const char* behind_sudo = std::getenv("SUDO_USER"); behind_sudo != nullptr && *behind_sudo != '\0')
        return behind_sudo;
    const auto* entry = ::getpwuid(::geteuid());
    return entry != nullptr ? entry->pw_name : "uid " + std::to_string(::geteuid());
}

}  // namespace

act_record::act_record(const settings& config, std::string method) : config_(config), method_(std::move(method))
{
    if (server_records()) {
        by_server_ = true;
        return;
    }
    if (!is_wanted()) return;
    try {
        own_ = std::make_unique<audit::journal>(journal_of(config_));
        if (own_->is_new())
            std::cerr << "The audit in " << audit_folder(config_).string() << " begins by the key " << own_->key()
                      << ": note it for `container-mcp audit verify --key`.\n";
    } catch (const audit::audit_error& problem) {
        if (config_.audit_required) throw config_error(std::string(problem.what()) + " (AUDIT_REQUIRED)");
        warn(problem.what());
    }
}

// With its first key a server has callers with names.
bool act_record::is_wanted() const
{
    std::error_code absent;
    return config_.keeps_audit() ||
           (config_.audit == "auto" &&
            (method_ == "key create" || std::filesystem::exists(audit_folder(config_), absent)));
}

bool act_record::server_records() const
try {
    const auto answer = ask_administration(config_, "GET", "/admin/audit?limit=1");
    const auto* state = answer.body.if_contains("audit");
    return answer.status == 200 && state != nullptr && !state->is_null();
} catch (const std::runtime_error&) {
    return false;  // no server runs
}

void act_record::warn(const std::string& why) const
{
    std::cerr << "container-mcp: this is not in the audit: " << why << '\n';
}

void act_record::done(const std::string& concerns)
{
    if (by_server_) {
        const json::object act{{"method", method_}, {"concerns", concerns}, {"by", user_name()}};
        const auto answer = ask_administration(config_, "POST", "/admin/acts", {jsonrpc::write_json(act)});
        if (answer.status != 200) warn("the server answers with HTTP status " + std::to_string(answer.status));
    }
    if (!own_) return;
    std::string fields;
    const auto by = user_name();
    audit::append_fields(fields, {{"credential", "command"},
                                  {"by", by},
                                  {"method", method_},
                                  {"concerns", log::unless_empty(concerns)},
                                  {"cause", "ok"}});
    own_->add({std::chrono::system_clock::now(), audit::kind::admin, fields, {}});
    if (!own_->seal()) warn(own_->trouble());
}

}  // namespace cmcp::command
