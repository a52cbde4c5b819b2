#include "server/sandbox_start.hpp"

#include "config/load_settings.hpp"
#include "runs/python_manager.hpp"
#include "sandbox/server_self.hpp"
#include "server/diagnosis.hpp"
#include "text/words.hpp"
#include "web/web_browser_setup.hpp"
#include "wire/program_starter.hpp"

#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace cmcp::command {

namespace {

namespace fs = std::filesystem;

constexpr const char* launcher_name = "container-mcp-launcher";
constexpr const char* zygote_name = "container-mcp-zygote";

bool executable(const fs::path& name) { return fs::is_regular_file(name) && ::access(name.c_str(), X_OK) == 0; }

fs::path find_launcher(const settings& chosen)
{
    if (!chosen.launcher_path.empty()) {
        if (executable(chosen.launcher_path)) return fs::absolute(chosen.launcher_path);
        throw config_error("SANDBOX_LAUNCHER=" + chosen.launcher_path.string() +
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

// Beside the launcher it is built; without libpython it is not, and that is no error.
void choose_zygote(sandbox::native_backend::options& into, const settings& chosen)
{
    auto& report = into.zygote_layer;
    const fs::path path = fs::path(into.launcher_path).parent_path() / zygote_name;
    if (chosen.sandbox_backend == "firejail") {
        report.detail = "Firejail starts every run anew: Python runs start cold";
    } else if (chosen.python_zygote == "off") {
        report.detail = "PYTHON_ZYGOTE=off: Python runs start cold, in the same sandbox";
    } else if (!executable(path)) {
        report.is = sandbox::layer::state::off;
        report.detail = zygote_obstacle(path);
    } else {
        into.zygote = python_manager::zygote(chosen, path.string());
    }
}

// As the workspaces are named: absolute, without dots and a slash at the end.
std::string plain(const fs::path& folder)
{
    std::string name = fs::absolute(folder).lexically_normal().string();
    while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    return name;
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

// What runs see of the machine is read-only /usr and a few files: an interpreter elsewhere is not there for them.
void require_interpreter(const settings& chosen)
{
    if (!chosen.enable_system && !chosen.enable_sandbox && !chosen.enable_web) return;
    if (executable(chosen.python_interpreter)) return;
    throw config_error("PYTHON_INTERPRETER=" + chosen.python_interpreter +
                       " is not an executable file of this machine: install python3, or "
                       "set it to the path of an interpreter below /usr");
}

}  // namespace

started_sandbox start_sandbox(const settings& chosen)
{
    require_interpreter(chosen);
    started_sandbox started;
    started.chosen.launcher_path = find_launcher(chosen).string();
    started.chosen.launcher.workspaces = plain(chosen.sandbox_root);
    started.chosen.launcher.waiting = chosen.sandbox_waiting;
    if (chosen.sandbox_backend == "firejail") started.chosen.launcher.firejail = find_firejail();
    choose_zygote(started.chosen, chosen);
    try {
        started.launcher = sandbox::start_launcher(started.chosen.launcher_path, started.chosen.launcher);
    } catch (const std::system_error& e) {
        throw config_error("the launcher " + started.chosen.launcher_path + " cannot be started: " + e.what());
    }
    return started;
}

namespace {

sandbox::landlock_rules places_of_the_server(const settings& chosen)
{
    sandbox::landlock_rules places;
    // What the C library and OpenSSL look at while they work; of /etc nothing that is secret.
    places.read_only = {"/usr",
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
    places.read_write = {chosen.sandbox_root.string(), "/dev/null"};
    if (!chosen.web_ca_file.empty()) places.read_only.push_back(chosen.web_ca_file.string());
    if (!chosen.sandbox_upload_folder.empty())
        places.read_only.push_back(fs::absolute(chosen.sandbox_upload_folder).string());
    if (!chosen.log_file.empty()) places.read_write.push_back(fs::absolute(chosen.log_file).parent_path().string());
    return places;
}

// What may still have to be started: another launcher after a crash, and the browser.
std::vector<sandbox::startable_program> programs_of_the_server(const started_sandbox& started, const settings& chosen)
{
    std::vector<sandbox::startable_program> programs{
        {started.chosen.launcher_path, sandbox::arguments_of(started.chosen.launcher)}};
    if (const std::string browser = find_browser_host(chosen); !browser.empty()) programs.push_back({browser, {}});
    return programs;
}

}  // namespace

void confine_this_process(started_sandbox& started, const settings& chosen)
{
    sandbox::layer self{"server_self", sandbox::layer::state::not_asked, "SERVER_CONFINE is false"};
    if (chosen.confine_server) {
        sandbox::start_programs_through_helper(started.chosen.launcher_path, programs_of_the_server(started, chosen));
        self = sandbox::confine_server(places_of_the_server(chosen));
    }
    started.chosen.further = {std::move(self)};
}

namespace {

void refuse_unknown_layers(const sandbox::layers& found, const settings& chosen)
{
    for (const auto& name : chosen.sandbox_require) {
        if (sandbox::is_layer_name(found, name)) continue;
        throw config_error("SANDBOX_REQUIRE names " + name + ", which is no layer; the nearest is " +
                           std::string(nearest_of(sandbox::layer_names(found), name)));
    }
}

}  // namespace

void refuse_missing_layers(const sandbox::layers& found, const settings& chosen)
{
    refuse_unknown_layers(found, chosen);
    const auto missing = sandbox::missing(found, chosen.sandbox_require);
    if (missing.empty()) return;
    throw config_error("the sandbox lacks " + joined(missing) + ", which SANDBOX_REQUIRE names. " +
                       sentences_of(diagnose(found, chosen.sandbox_require).problems) +
                       " `container-mcp doctor` shows all layers; without these names in SANDBOX_REQUIRE the server "
                       "runs with less isolation");
}

json::array layers_json(const sandbox::layers& found)
{
    json::array all;
    for (const auto& layer : found) {
        json::object row;
        row["name"] = layer.name;
        row["state"] = sandbox::to_string(layer.is);
        row["detail"] = layer.detail;
        all.push_back(std::move(row));
    }
    return all;
}

}  // namespace cmcp::command
