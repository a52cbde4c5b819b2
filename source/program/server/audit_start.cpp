#include "server/audit_start.hpp"

#include "audit/audit_error.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "metrics/registry.hpp"
#include "prebuilt/version.hpp"

#include <algorithm>
#include <system_error>

#include <unistd.h>

namespace cmcp::command {

namespace {

namespace fs = std::filesystem;

fs::path real_path(const fs::path& path)
{
    std::error_code failure;
    const auto real = fs::weakly_canonical(fs::absolute(path), failure);
    return failure ? fs::absolute(path).lexically_normal() : real;
}

bool lies_in(const fs::path& what, const fs::path& folder)
{
    const auto inner = real_path(what), outer = real_path(folder);
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// Runs, file tools and callers must not reach it.
void refuse_open_places(const char* setting, const fs::path& file, const settings& config)
{
    std::vector<std::pair<std::string, fs::path>> open;
    for (const char* below : {"workspace", "callers", "sandboxes", "images"})
        open.emplace_back(std::string("SANDBOX_ROOT/") + below, config.sandbox_root / below);
    if (!config.sandbox_data_folder.empty()) open.emplace_back("SANDBOX_DATA_FOLDER", config.sandbox_data_folder);
    if (!config.sandbox_upload_folder.empty()) open.emplace_back("SANDBOX_UPLOAD_FOLDER", config.sandbox_upload_folder);
    for (const auto& [name, folder] : open)
        if (lies_in(file, folder))
            throw config_error(std::string(setting) + "=" + file.string() + " lies in " + name + "=" + folder.string() +
                               ", which callers and their runs reach: name another place");
}

audit::writer_options options_of(const settings& config)
{
    audit::writer_options how;
    how.journal = journal_of(config);
    how.required = config.audit_required;
    how.arguments = config.audit_arguments == "digest";
    if (!config.audit_heads.empty()) how.heads = fs::absolute(config.audit_heads);
    return how;
}

void observe(const audit::writer& of)
{
    auto& figures = metrics::all();
    const auto number = [](auto value) { return static_cast<double>(value); };
    figures.observe(&of, "cmcp_audit_records", "Number of the latest record of the audit.",
                    [&of, number] { return number(of.now().last.number); });
    figures.observe(&of, "cmcp_audit_sealed_records", "Number of the latest record that is signed and on the disk.",
                    [&of, number] { return number(of.now().sealed.number); });
    figures.observe(&of, "cmcp_audit_dropped_records", "Records since the start that could not be kept.",
                    [&of, number] { return number(of.now().dropped); });
    figures.observe(&of, "cmcp_audit_trouble", "1 while records cannot be written.",
                    [&of, number] { return number(of.now().trouble.empty() ? 0 : 1); });
}

}  // namespace

fs::path audit_folder(const settings& config)
{
    const auto folder = config.audit_folder.empty() ? config.sandbox_root / "audit" : config.audit_folder;
    return fs::absolute(folder).lexically_normal();
}

audit::journal_options journal_of(const settings& config)
{
    return {audit_folder(config), fs::absolute(config.sandbox_root / "audit-key").lexically_normal(),
            config.audit_file_size, config.audit_keep};
}

std::unique_ptr<audit::writer> open_audit(const settings& config)
{
    if (!config.keeps_audit()) return nullptr;
    refuse_open_places("AUDIT_FOLDER", audit_folder(config), config);
    if (!config.audit_heads.empty()) refuse_open_places("AUDIT_HEADS", config.audit_heads, config);
    try {
        return std::make_unique<audit::writer>(options_of(config));
    } catch (const audit::audit_error& problem) {
        throw config_error(problem.what());
    }
}

// The log may have to be rotated by whichever thread writes a line.
sandbox::landlock_rules places_of_audit(const settings& config)
{
    const auto how = journal_of(config);
    sandbox::landlock_rules places;
    places.read_only = {"/usr", "/lib", "/lib64", "/etc/ssl"};
    places.read_write = {how.folder.string(), how.keys.string(), "/dev/null"};
    for (const auto& file : {config.audit_heads, config.log_file})
        if (!file.empty()) places.read_write.push_back(fs::absolute(file).parent_path().string());
    return places;
}

audit_in_use::audit_in_use(audit::writer* to, std::string_view program) : to_(to)
{
    audit::use(to_);
    if (to_ == nullptr) return;
    observe(*to_);
    const auto now = to_->now();
    audit::add(audit::kind::start, {{"version", CMCP_VERSION},
                                    {"program", program},
                                    {"uid", ::geteuid()},
                                    {"after", to_->follows_a_stop() ? "stop" : "kill"},
                                    {"damage", log::unless_empty(now.damage)}});
}

audit_in_use::~audit_in_use()
{
    audit::use(nullptr);
    if (to_ == nullptr) return;
    metrics::all().remove(to_);
    to_->stop();
}

}  // namespace cmcp::command
