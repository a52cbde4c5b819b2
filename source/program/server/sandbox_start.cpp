#include "server/sandbox_start.hpp"

#include "config/config_error.hpp"
#include "config/load_settings.hpp"
#include "entrances/side_entrance.hpp"
#include "networks/network_lists.hpp"
#include "runs/python_run.hpp"
#include "sandbox/launcher_process.hpp"
#include "sandbox/server_self.hpp"
#include "sandbox/visible_paths.hpp"
#include "sandboxes/image_fetches.hpp"
#include "secrets/secret_error.hpp"
#include "secrets/secret_key.hpp"
#include "server/audit_start.hpp"
#include "server/diagnosis.hpp"
#include "text/words.hpp"
#include "tls/server_certificate.hpp"
#include "web/web_browser.hpp"
#include "wire/program_starter.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace cmcp::command {

namespace {

namespace fs = std::filesystem;

constexpr const char* launcher_name = "container-mcp-launcher";
constexpr const char* zygote_name = "container-mcp-zygote";

bool executable(const fs::path& name) { return fs::is_regular_file(name) && ::access(name.c_str(), X_OK) == 0; }

fs::path find_launcher(const settings& config)
{
    if (!config.launcher_path.empty()) {
        if (executable(config.launcher_path)) return fs::absolute(config.launcher_path);
        throw config_error("SANDBOX_LAUNCHER=" + config.launcher_path.string() +
                           " is not an executable file: set it to " + launcher_name);
    }
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const auto& place : {here / launcher_name, here.parent_path() / "libexec/container-mcp" / launcher_name}) {
        if (executable(place)) return place;
    }
    throw config_error(std::string(launcher_name) + " is not in " + here.string() +
                       ": build it, or set SANDBOX_LAUNCHER to where it is");
}

std::string find_firejail()
{
    for (const char* place : {"/usr/bin/firejail", "/usr/local/bin/firejail"})
        if (executable(place)) return place;
    throw config_error(
        "SANDBOX_BACKEND=firejail, but there is no /usr/bin/firejail: install the package firejail, or set "
        "SANDBOX_BACKEND=native");
}

std::string zygote_obstacle(const fs::path& path)
{
#ifdef CMCP_HAS_ZYGOTE
    const std::string reason = path.string() + " is not beside the launcher: build or install it";
#else
    const std::string reason = "built without libpython, so there is no " + path.filename().string();
#endif
    return reason + "; Python runs start cold, in the same sandbox";
}

// The build puts the loaded interpreter beside the launcher. Without libpython there is none, which is no error.
void choose_zygote(sandbox::native_backend::options& into, const settings& config)
{
    auto& report = into.zygote_layer;
    const fs::path path = fs::path(into.launcher_path).parent_path() / zygote_name;
    if (config.sandbox_backend == "firejail") {
        report.detail = "Firejail starts every run anew: Python runs start cold";
    } else if (config.python_zygote == "off") {
        report.detail = "PYTHON_ZYGOTE=off: Python runs start cold, in the same sandbox";
    } else if (!executable(path)) {
        report.is = sandbox::layer::state::off;
        report.detail = zygote_obstacle(path);
    } else {
        into.launcher.zygote = python_manager::zygote(config, path.string());
    }
}

// Absolute, without dots and a slash at the end, as workspaces are named.
std::string plain(const fs::path& folder)
{
    std::string name = fs::absolute(folder).lexically_normal().string();
    while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    return name;
}

// Runs see only read-only /usr and a few files of the machine, so an interpreter elsewhere does not exist for them.
void require_interpreter(const settings& config)
{
    if (!config.enable_system && !config.enable_sandbox && !config.enable_web) return;
    if (executable(config.python_interpreter)) return;
    throw config_error("PYTHON_INTERPRETER=" + config.python_interpreter +
                       " is not an executable file of this machine: install python3, or "
                       "set it to the path of an interpreter below /usr");
}

// Runs of Firejail see no folder at another place than its own.
std::string data_folder(const settings& config)
{
    std::error_code absent;
    const fs::path real = fs::canonical(config.sandbox_data_folder, absent);
    const bool is_there = !absent && fs::is_directory(real);
    const bool is_default = config.sandbox_data_folder == settings().sandbox_data_folder;
    if (config.sandbox_data_folder.empty() || (is_default && (!is_there || config.sandbox_backend == "firejail")))
        return {};
    const std::string named = "SANDBOX_DATA_FOLDER=" + config.sandbox_data_folder.string();
    if (config.sandbox_backend == "firejail")
        throw config_error(named + " needs SANDBOX_BACKEND=native: Firejail cannot show a folder at " +
                           sandbox::data_path);
    if (!is_there) throw config_error(named + " is no folder that can be read");
    return real.string();
}

// Of the runs that the server starts by itself and of those that are asked for.
sandbox::run_maxima highest_limits(const settings& config)
{
    const sandbox::run_limits own;
    const std::uint64_t together = runs_of_a_cell(config);
    const auto of_run = std::max(config.memory_limit, config.python_memory_limit);
    return {std::max({own.memory, config.memory_limit + config.kernel_memory_limit, together * of_run}),
            std::max(own.processes, together * config.process_limit), std::max(own.file_size, config.file_size_limit),
            std::max(own.tmp_size, config.tmp_size), std::max(own.open_files, config.open_files_limit)};
}

// The key may be made while the server runs. A rule is for what is there now, so then for its folder.
std::string place_of_secrets_key(const settings& config)
try {
    const auto file = secrets_key_file(config);
    std::error_code absent;
    if (fs::exists(file, absent)) return file.string();
    if (network_lists::of(config).ceiling.empty()) return {};
    if (fs::create_directories(file.parent_path(), absent))
        fs::permissions(file.parent_path(), fs::perms::owner_all, absent);
    return fs::exists(file.parent_path(), absent) ? file.parent_path().string() : "";
} catch (const secret_error&) {
    return {};  // whoever sets a secret hears it
}

sandbox::landlock_rules places_of_the_server(const settings& config)
{
    sandbox::landlock_rules places;
    // The C library and OpenSSL read these while they work. Nothing of /etc here is secret.
    places.read_only = {"/usr",
                        "/bin",
                        "/lib",
                        "/lib64",
                        "/proc",
                        "/sys/devices/system/cpu",
                        "/sys/fs/cgroup",
                        "/etc/ssl",
                        "/etc/pki",
                        "/etc/ca-certificates",
                        "/etc/hosts",
                        "/etc/host.conf",
                        "/etc/resolv.conf",
                        "/etc/nsswitch.conf",
                        "/etc/gai.conf",
                        "/etc/services",
                        "/etc/protocols",
                        "/etc/localtime",
                        "/etc/ld.so.cache",
                        "/run/systemd/resolve",
                        "/run/resolvconf",
                        "/dev/urandom",
                        "/dev/random"};
    places.read_write = {config.sandbox_root.string(), "/dev/null"};
    places.whiteouts = true;  // of machines that are copied
    for (auto& folder : server_certificate::folders(config)) places.read_only.push_back(std::move(folder));
    if (!config.cluster_etcd.empty())
        for (auto& folder : server_certificate::folders(settings_for_members(config)))
            places.read_only.push_back(std::move(folder));
    if (auto place = place_of_secrets_key(config); !place.empty()) places.read_only.push_back(std::move(place));
    // Its folder, so that readiness sees the interpreter go and come.
    if (const fs::path interpreter = config.python_interpreter; interpreter.is_absolute())
        places.read_only.push_back(interpreter.parent_path().string());
    if (!config.web_ca_file.empty()) places.read_only.push_back(config.web_ca_file.string());
    if (!config.sandbox_upload_folder.empty())
        places.read_only.push_back(fs::absolute(config.sandbox_upload_folder).string());
    if (!config.log_file.empty()) places.read_write.push_back(fs::absolute(config.log_file).parent_path().string());
    return places;
}

sandbox::landlock_rules both(sandbox::landlock_rules one, const sandbox::landlock_rules& other)
{
    one.read_only.insert(one.read_only.end(), other.read_only.begin(), other.read_only.end());
    one.read_write.insert(one.read_write.end(), other.read_write.begin(), other.read_write.end());
    return one;
}

// Editors and Kubernetes put another file in the place of the old one, so the whole folder is readable. A file that
// lies in the folder / cannot be read again.
std::vector<std::string> folders_of(const std::vector<fs::path>& files)
{
    std::vector<std::string> all;
    for (const auto& file : files) {
        std::error_code absent;
        for (const auto& place : {fs::absolute(file), fs::canonical(file, absent)})
            if (place.has_parent_path() && place.parent_path() != "/") all.push_back(place.parent_path().string());
    }
    return all;
}

void refuse_unknown_layers(const sandbox::layers& layers, const settings& config)
{
    for (const auto& name : config.sandbox_require) {
        if (sandbox::is_layer_name(layers, name)) continue;
        throw config_error("SANDBOX_REQUIRE names " + name + ", which is no layer; the nearest is " +
                           std::string(nearest_of(sandbox::layer_names(layers), name)));
    }
}

// What SANDBOX_REQUIRE leaves out of a server is there by that.
sandbox::layer only_strict(const settings& config)
{
    if (!config.allows_machines()) return {"strict", sandbox::layer::state::on, "no sandbox is of class machine"};
    return {"strict", sandbox::layer::state::not_asked,
            "create_sandbox with machine makes sandboxes with root inside, which docs/security.md describes; strict in "
            "SANDBOX_REQUIRE forbids them"};
}

sandbox::layer nesting(const settings& config)
{
    if (config.allows_nesting())
        return {"nesting", sandbox::layer::state::on, "sandboxes of class machine may mount and make namespaces"};
    return {"nesting", sandbox::layer::state::not_asked, "no sandbox mounts or makes namespaces"};
}

// A file system in memory that a program has mounted is counted by a cgroup alone.
std::vector<std::string> with_needed_by_nesting(std::vector<std::string> required, const settings& config)
{
    if (config.allows_nesting()) required.emplace_back("memory");
    return required;
}

}  // namespace

started_sandbox start_sandbox(const settings& config)
{
    require_interpreter(config);
    started_sandbox started;
    started.options.launcher_path = find_launcher(config).string();
    started.options.launcher.workspaces = plain(config.sandbox_root);
    started.options.launcher.images = plain(config.sandbox_root / "images");
    started.options.launcher.data = data_folder(config);
    started.options.launcher.waiting = config.sandbox_waiting;
    started.options.launcher.cells = config.max_live_sandboxes;
    started.options.launcher.most = highest_limits(config);
    if (config.sandbox_backend == "firejail") started.options.launcher.firejail = find_firejail();
    if (config.allows_machines())
        started.options.launcher.machines =
            config.allows_nesting() ? sandbox::machines_allowed::nested : sandbox::machines_allowed::flat;
    choose_zygote(started.options, config);
    started.options.launcher.browser = browser_for_launcher(config);
    started.options.browser_layer.detail = config.enable_web ? "there is no browser here" : "TOOLS_ENABLE_WEB is off";
    try {
        started.launcher = sandbox::start_launcher(started.options.launcher_path, started.options.launcher);
    } catch (const std::system_error& e) {
        throw config_error("the launcher " + started.options.launcher_path + " cannot be started: " + e.what());
    }
    return started;
}

void confine_this_process(started_sandbox& started, const settings& config, audit::writer* audit,
                          const std::vector<fs::path>& read_again)
{
    sandbox::layer self{"server_self", sandbox::layer::state::not_asked, "SERVER_CONFINE is false"};
    if (config.confine_server) {
        // The server may have to start another launcher after a crash, and fetches images.
        const std::string& launcher = started.options.launcher_path;
        std::vector<sandbox::startable_program> programs{sandbox::launcher_program(launcher, started.options.launcher)};
        if (!config.sandbox_image_pull.empty()) programs.push_back(image_fetcher_program(config));
        sandbox::start_programs_through_helper(launcher, programs);
        auto places = places_of_the_server(config);
        for (auto& folder : folders_of(read_again)) places.read_only.push_back(std::move(folder));
        const auto of_audit = audit == nullptr ? sandbox::landlock_rules() : places_of_audit(config);
        const std::string why_shown = sandbox::show_only(both(places, of_audit));
        if (audit != nullptr) audit->start([of_audit] { sandbox::confine_server(of_audit); });
        self = sandbox::confine_server(places);
        if (!why_shown.empty() && self.is == sandbox::layer::state::degraded) self.detail += " (" + why_shown + ")";
    } else if (audit != nullptr) {
        audit->start();
    }
    started.options.further = {std::move(self), only_strict(config), nesting(config)};
}

std::vector<std::string> required_layers(const sandbox::layers& layers, const settings& config)
{
    auto required = with_needed_by_nesting(config.sandbox_require, config);
    const auto without_browser = [](const sandbox::layer& each) {
        return each.name == browser_layer && each.is == sandbox::layer::state::not_asked;
    };
    if (std::any_of(layers.begin(), layers.end(), without_browser)) std::erase(required, browser_layer);
    return required;
}

void refuse_missing_layers(const sandbox::layers& layers, const settings& config)
{
    refuse_unknown_layers(layers, config);
    auto required = with_needed_by_nesting(config.sandbox_require, config);
    std::erase(required, browser_layer);  // without it web_browse does not run, and everything else does
    const auto missing = sandbox::missing(layers, required);
    if (missing.empty()) return;
    throw config_error("the sandbox lacks " + joined(missing, ", ") + ", which SANDBOX_REQUIRE names. " +
                       sentences_of(diagnose(layers, required).problems) +
                       " `container-mcp doctor` shows all layers; without these names in SANDBOX_REQUIRE the server "
                       "runs with less isolation");
}

}  // namespace cmcp::command
