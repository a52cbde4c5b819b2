#include "config/load_settings.hpp"

#include "config/cluster_member.hpp"
#include "config/config_error.hpp"
#include "config/former_settings.hpp"
#include "config/setting.hpp"
#include "config/setting_kinds.hpp"
#include "config/settings.hpp"
#include "posix/unique_fd.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

extern char** environ;

namespace cmcp {

namespace {

void check_tls(const settings& config)
{
    const bool asks_clients = config.tls_client_auth != "off";
    if (config.tls_cert.empty() != config.tls_key.empty())
        throw config_error("TLS_CERT and TLS_KEY belong together: set both to serve HTTPS, or none");
    if (asks_clients && config.tls_cert.empty())
        throw config_error("TLS_CLIENT_AUTH=" + config.tls_client_auth + " needs TLS: set TLS_CERT and TLS_KEY");
    if (asks_clients && config.tls_client_ca.empty())
        throw config_error("TLS_CLIENT_AUTH=" + config.tls_client_auth +
                           " needs TLS_CLIENT_CA: set it to the authorities that sign certificates of clients");
    if (!asks_clients && !config.tls_client_ca.empty())
        throw config_error("TLS_CLIENT_CA does nothing without TLS_CLIENT_AUTH: set that to accept or require");
}

bool is_everywhere(const std::string& address)
{
    return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

void check_cluster(const settings& config)
{
    if (config.cluster_etcd.empty()) return;
    const auto need = [&config](bool is_there, const std::string& what) {
        if (!is_there) throw config_error("CLUSTER_ETCD=" + kinds::printed(config.cluster_etcd) + " needs " + what);
    };
    need(is_member_name(config.sandbox_node),
         "SANDBOX_NODE: a name of at most 24 of a-z, 0-9 and '-' that no other server has");
    need(!config.cluster_listen.empty(), "CLUSTER_LISTEN: set it to host:port for the other servers");
    need(!config.cluster_advertise.empty() || !is_everywhere(config.cluster_listen),
         "CLUSTER_ADVERTISE: set it to the host:port where the other servers reach this one");
    need(!config.cluster_cert.empty() && !config.cluster_key.empty() && !config.cluster_ca.empty(),
         "CLUSTER_CERT, CLUSTER_KEY and CLUSTER_CA, because servers know each other by certificates alone");
    need(!config.link_key.empty(),
         "SANDBOX_LINK_KEY: set it to the same random text on all servers, because each of them checks what another "
         "has signed");
    need(config.cluster_etcd_user.empty() == config.cluster_etcd_password.empty(),
         "both CLUSTER_ETCD_USER and CLUSTER_ETCD_PASSWORD, or none of them");
}

void check_store(const settings& config)
{
    const auto want = [](bool fits, const std::string& sentence) {
        if (!fits) throw config_error(sentence);
    };
    const bool has_store = !config.snapshot_store.empty();
    const std::string needs = "SNAPSHOT_STORE=" + config.snapshot_store + " needs ";
    for (const auto* name : {"SNAPSHOT_STORE_KEY_ID", "SNAPSHOT_STORE_SECRET", "SNAPSHOT_STORE_CA", "SNAPSHOT_KEY"})
        want(has_store || find_setting(name)->print(config).empty(),
             std::string(name) + " does nothing without SNAPSHOT_STORE: set that to https://host/bucket");
    want(!has_store || (!config.snapshot_store_key_id.empty() && !config.snapshot_store_secret.empty()),
         needs +
             "SNAPSHOT_STORE_KEY_ID and SNAPSHOT_STORE_SECRET: set them to an access key that may read, write and "
             "list this bucket");
    want(!has_store || !config.snapshot_key.empty(),
         needs +
             "SNAPSHOT_KEY, because snapshots are encrypted before they leave the server: make one with `openssl "
             "rand -hex 32`, set it on all servers of a cluster and keep a copy");
}

// Settings need others: those of TLS, of the cluster, of the storage of snapshots. Throws config_error.
void check_together(const settings& config)
{
    check_tls(config);
    check_cluster(config);
    check_store(config);
}

namespace fs = std::filesystem;

std::string variable(const environment& variables, std::string_view name)
{
    const auto entry = variables.find(name);
    return entry == variables.end() ? std::string() : entry->second;
}

// The user's folder for configuration or data: $XDG_… or below HOME; empty when neither is known.
fs::path user_folder(const environment& variables, std::string_view xdg, std::string_view below_home)
{
    const std::string folder = variable(variables, xdg);
    if (folder.starts_with('/')) return fs::path(folder) / "container-mcp";
    const std::string home = variable(variables, "HOME");
    return home.starts_with('/') ? fs::path(home) / below_home / "container-mcp" : fs::path();
}

std::string read_file(const fs::path& name)
{
    std::ifstream in(name, std::ios::binary);
    if (!fs::is_regular_file(name) || !in)
        throw config_error("the configuration file " + name.string() + " cannot be read: name a readable file");
    return {std::istreambuf_iterator<char>(in), {}};
}

// A URL is shown without user and password.
std::string shown_value(const setting& entry, const std::string& value)
{
    if (entry.secret) return "***";
    return value.find("://") == std::string::npos ? value : kinds::url().print(value);
}

void set(loaded_settings& into, const setting& entry, const assignment& item)
{
    try {
        entry.parse(into.values, item.value);
    } catch (const bad_value& e) {
        throw config_error(std::string(entry.name) + "=" + shown_value(entry, item.value) + " (" + item.origin +
                           ") is not allowed: it must be " + e.what());
    }
    into.origins.insert_or_assign(std::string(entry.name), item.origin);
}

using finder = const setting* (*)(std::string_view);

std::string about_unknown(const std::string& name)
{
    if (name.starts_with("SANDBOX_ENGINE"))
        return "is gone, because sandboxes have images without an engine: leave it out, and add each image with "
               "`container-mcp image add docker://NAME`";
    return "is no known setting; the nearest is " + std::string(nearest_setting(name));
}

struct loading : loaded_settings {
    std::map<std::string_view, assignment> former_limits;  // by limit of a principal
};

void take_former(loading& into, const former_setting& former, const assignment& item)
{
    const std::string name = std::string(former.name) + " (" + item.origin + ") ", now(former.now);
    if (former.is_refused) throw config_error(name + now);
    if (former.quota.empty()) {
        into.warnings.push_back(name + "has no effect any more: " + now);
    } else {
        into.warnings.push_back(name + "is AUTH_QUOTAS=*:" + std::string(former.quota) + "=" + item.value +
                                " now: write that in its place");
        into.former_limits.insert_or_assign(former.quota, item);
    }
}

// Without them callers might have more than the operator allowed. AUTH_QUOTAS goes before them.
void apply_former_limits(loading& into)
{
    for (const auto& [limit, item] : into.former_limits) {
        auto words = into.values.auth_quotas;
        const std::string begin = "*:" + std::string(limit) + "=";
        if (std::ranges::any_of(words, [&](const auto& word) { return word.starts_with(begin); })) continue;
        words.push_back(begin + item.value);
        set(into, *find_setting("AUTH_QUOTAS"), {"AUTH_QUOTAS", joined(words, ","), item.origin});
    }
}

void apply(loading& into, const assignments& items, finder find)
{
    for (const auto& item : items) {
        const auto* entry = find(item.key);
        const auto* former = entry ? nullptr : find_former_setting(item.key);
        if (former)
            take_former(into, *former, item);
        else if (entry)
            set(into, *entry, item);
        else
            throw config_error(item.key + " (" + item.origin + ") " + about_unknown(item.key));
    }
}

constexpr std::array<std::string_view, 11> our_prefixes{"SNAPSHOT_", "MCP_",   "BASH_", "PYTHON_", "FILE_", "WEB_",
                                                        "SANDBOX_",  "TOOLS_", "HTTP_", "TLS_",    "AUDIT_"};

// Variables of bash itself, of the official Python images and of proxies begin as ours do.
constexpr std::array<std::string_view, 12> of_others{"HTTP_PROXY",    "BASH_ENV",           "BASH_VERSION",
                                                     "BASH_FUNC_",    "BASH_COMPAT",        "BASH_LOADABLES_PATH",
                                                     "BASH_XTRACEFD", "PYTHON_VERSION",     "PYTHON_PIP_VERSION",
                                                     "PYTHON_SHA256", "PYTHON_SETUPTOOLS_", "PYTHON_GET_PIP_"};

bool starts_with_any(std::string_view name, const auto& prefixes)
{
    return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// A variable that looks like a setting but is none is most often a typing error.
void warn_of_unknown(loaded_settings& into, const environment& variables)
{
    for (const auto& [name, value] : variables) {
        if (!starts_with_any(name, our_prefixes) || starts_with_any(name, of_others)) continue;
        if (find_setting(name) || find_former_setting(name)) continue;
        into.warnings.push_back("the environment variable " + name + " does nothing: it " + about_unknown(name));
    }
}

void apply_environment(loading& into, const environment& variables)
{
    for (const auto& entry : setting_table()) {
        const auto item = variables.find(entry.name);
        if (item != variables.end()) set(into, entry, {item->first, item->second, "environment"});
    }
    for (const auto& former : former_settings())
        if (auto value = variable(variables, former.name); !value.empty())
            take_former(into, former, {std::string(former.name), std::move(value), "environment"});
    warn_of_unknown(into, variables);
}

struct file_choice {
    const std::optional<fs::path>& named;
    std::string_view named_by;  // environment variable
    std::string_view in_working_folder;
    std::string_view in_user_folder;
};

// Empty: there is none.
fs::path choose_file(const settings_sources& from, const file_choice& choice)
{
    if (choice.named) return *choice.named;
    if (const auto name = variable(from.variables, choice.named_by); !name.empty()) return name;
    const fs::path usual = from.trust_working_folder
                               ? fs::path(choice.in_working_folder)
                               : user_folder(from.variables, "XDG_CONFIG_HOME", ".config") / choice.in_user_folder;
    std::error_code ignored;
    return fs::exists(usual, ignored) ? usual : fs::path();
}

fs::path toml_of(const settings_sources& from)
{
    return choose_file(from, {from.toml_file, "CONTAINER_MCP_CONFIG", "config.toml", "config.toml"});
}

fs::path env_of(const settings_sources& from)
{
    return choose_file(from, {from.env_file, "CONTAINER_MCP_ENV", "volume/config/custom.env", "custom.env"});
}

void apply_toml(loading& into, const fs::path& file, const environment& variables)
{
    const std::string text = read_file(file);
    apply(into, parse_toml_file(text, file.string()), find_toml_setting);
    auto upstreams = parse_upstreams(text, file.string(), variables);
    into.values.upstreams = std::move(upstreams.entries);
    into.secret_variables = std::move(upstreams.secret_variables);
}

void apply_files(loading& into, const settings_sources& from)
{
    const auto toml = toml_of(from);
    if (!toml.empty()) apply_toml(into, toml, from.variables);
    const auto env = env_of(from);
    if (!env.empty()) apply(into, parse_env_file(read_file(env), env.string()), find_setting);
}

// A default time that the user sets must fit; the built-in one follows a lower maximum.
void check_timeouts(loaded_settings& into, const char* name, std::chrono::milliseconds settings::*standard,
                    std::chrono::milliseconds settings::*most)
{
    const std::string default_name = std::string(name) + "_TIMEOUT_DEFAULT";
    const std::string max_name = std::string(name) + "_TIMEOUT_MAX";
    auto& value = into.values.*standard;
    const auto limit = into.values.*most;
    if (value <= limit) return;
    const auto origin = into.origins.find(default_name);
    if (origin == into.origins.end()) {
        value = limit;
        return;
    }
    throw config_error(default_name + "=" + kinds::printed(value) + " (" + origin->second +
                       ") is not allowed: it must not exceed " + max_name + "=" + kinds::printed(limit));
}

// What nobody sets alone.
void derive(settings& config)
{
    config.body_timeout = config.write_timeout = config.http_timeout;
    config.header_timeout = std::min(config.http_timeout, config.header_timeout);
    config.idle_timeout = std::max(4 * config.http_timeout, config.idle_timeout);
    config.max_sessions_per_address = std::max<std::size_t>(1, config.max_sessions / 2);
    config.max_kernels = config.max_shells = config.max_live_sandboxes;
    config.preview_ttl = config.link_ttl;
    config.python_zygote_waiting = config.sandbox_waiting;
}

void apply_rules(loaded_settings& into)
{
    auto& config = into.values;
    check_timeouts(into, "BASH", &settings::bash_timeout_default, &settings::bash_timeout_max);
    check_timeouts(into, "PYTHON", &settings::python_timeout_default, &settings::python_timeout_max);
    check_together(config);
    derive(config);
    if (!config.debug) return;
    config.log_level = "DEBUG";
    into.origins.insert_or_assign("LOG_LEVEL", "DEBUG=true");
}

void choose_sandbox_root(loaded_settings& into, const environment& variables)
{
    if (!into.values.sandbox_root.empty()) return;
    into.values.sandbox_root = user_folder(variables, "XDG_DATA_HOME", ".local/share");
    if (into.values.sandbox_root.empty()) {
        throw config_error(
            "there is no folder for the sandboxes because HOME is not set: set SANDBOX_ROOT to an absolute path");
    }
}

// Permissions do not tell of read-only file systems, full disks and used-up quotas.
void try_to_write(const fs::path& root)
{
    std::string name = (root / "try-XXXXXX").string();
    const unique_fd file(::mkostemp(name.data(), O_CLOEXEC));
    const bool written = file && ::write(file.get(), "try\n", 4) == 4;
    const int error = errno;
    if (file) ::unlink(name.c_str());
    if (written) return;
    throw config_error("SANDBOX_ROOT=" + root.string() + " cannot be written (" +
                       std::generic_category().message(error) +
                       "): make room there, or set it to a folder that this user may write to");
}

}  // namespace

loaded_settings load_settings(const settings_sources& from)
{
    loading loaded;
    apply_files(loaded, from);
    apply_environment(loaded, from.variables);
    apply(loaded, from.command_line, find_setting);
    apply_former_limits(loaded);
    choose_sandbox_root(loaded, from.variables);
    apply_rules(loaded);
    return static_cast<loaded_settings&&>(loaded);
}

std::vector<fs::path> settings_files(const settings_sources& from)
{
    std::vector<fs::path> files{toml_of(from), env_of(from)};
    std::erase_if(files, [](const fs::path& each) { return each.empty(); });
    return files;
}

environment current_environment()
{
    environment variables;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view pair(*entry);
        const auto equals = pair.find('=');
        if (equals != std::string_view::npos) variables.emplace(pair.substr(0, equals), pair.substr(equals + 1));
    }
    return variables;
}

void prepare_sandbox_root(const settings& config)
{
    const auto& root = config.sandbox_root;
    std::error_code failure;
    if (!fs::is_directory(root, failure)) {
        fs::create_directories(root, failure);
        if (!failure) fs::permissions(root, fs::perms::owner_all, failure);
    }
    if (failure || !fs::is_directory(root)) {
        throw config_error("SANDBOX_ROOT=" + root.string() + " cannot be created (" + failure.message() +
                           "): set it to a folder that this user may write to");
    }
    try_to_write(root);
}

}  // namespace cmcp
