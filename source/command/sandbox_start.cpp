#include "command/sandbox_start.hpp"

#include "config/load_settings.hpp"
#include "managers/python_manager.hpp"

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
        throw config_error("SANDBOX_LAUNCHER=" + chosen.launcher_path.string() + " is not an executable file: set it to " + launcher_name);
    }
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const auto& place : {here / launcher_name, here.parent_path() / "libexec/container-mcp" / launcher_name}) {
        if (executable(place)) return place;
    }
    throw config_error(std::string(launcher_name) + " is not in " + here.string() + ": build it, or set SANDBOX_LAUNCHER to where it is");
}

// Beside the launcher it is built; without libpython it is not, and that is no error.
void choose_zygote(sandbox::native_backend::options& into, const settings& chosen)
{
    auto& report = into.zygote_layer;
    const fs::path path = fs::path(into.launcher_path).parent_path() / zygote_name;
    if (chosen.python_zygote == "off") {
        report.detail = "PYTHON_ZYGOTE=off: Python runs start cold, in the same sandbox";
    } else if (!executable(path)) {
        report.is = sandbox::layer::state::off;
        report.detail = "not built: install libpython3-dev and build again; Python runs start cold, in the same sandbox";
    } else {
        into.zygote = python_manager::zygote(chosen, path.string());
    }
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string what_is_off(const sandbox::layers& found)
{
    std::vector<std::string> off;
    for (const auto& layer : found) {
        if (layer.is == sandbox::layer::state::off) off.push_back(layer.name + ": " + layer.detail);
    }
    return joined(off);
}

}  // namespace

started_sandbox start_sandbox(const settings& chosen)
{
    started_sandbox started;
    started.chosen.launcher_path = find_launcher(chosen).string();
    choose_zygote(started.chosen, chosen);
    try {
        started.launcher = sandbox::start_launcher(started.chosen.launcher_path, started.chosen.launcher);
    } catch (const std::system_error& e) {
        throw config_error("the launcher " + started.chosen.launcher_path + " cannot be started: " + e.what());
    }
    return started;
}

void refuse_missing_layers(const sandbox::layers& found, const settings& chosen)
{
    const auto missing = sandbox::missing(found, chosen.sandbox_require);
    if (missing.empty()) return;
    throw config_error("the sandbox lacks " + joined(missing) + ", which SANDBOX_REQUIRE names (off: " + what_is_off(found) +
                       "): make the kernel or the container allow it, or take it out of SANDBOX_REQUIRE and run with less isolation; "
                       "`container-mcp doctor` shows all layers");
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
