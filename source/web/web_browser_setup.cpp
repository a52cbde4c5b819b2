#include "web/web_browser_setup.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace cmcp {
namespace {

namespace fs = std::filesystem;

constexpr const char* host_name = "container-mcp-browser";

// The programs and not the scripts in /usr/bin, which add switches and look for files of the user.
constexpr const char* programs[] = {"/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser",
                                    "/usr/lib64/chromium-browser/chromium-browser", "/opt/google/chrome/chrome",
                                    "/opt/chromium/chrome"};

bool executable(const fs::path& path)
{
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string file_text(const fs::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string find_browser_program(const settings& config)
{
    const std::string& named = config.web_browser_path;
    if (!named.empty()) return executable(named) ? named : std::string();
    for (const char* each : programs)
        if (executable(each)) return each;
    return {};
}

std::string find_browser_host(const settings& config)
{
    std::error_code ignored;
    const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    fs::path beside_launcher;
    if (!config.launcher_path.empty())
        beside_launcher = fs::absolute(config.launcher_path, ignored).parent_path() / host_name;
    for (const auto& place :
         {beside_launcher, here / host_name, here.parent_path() / "libexec/container-mcp" / host_name})
        if (executable(place)) return place.string();
    return {};
}

std::string browser_obstacle(const settings& config)
{
    if (find_browser_program(config).empty()) {
        if (!config.web_browser_path.empty())
            return "WEB_BROWSER_PATH=" + config.web_browser_path +
                   " is not an executable file: correct it, or leave it empty and install "
                   "the package chromium; then restart the server.";
        return "web_browse needs Chromium, which is not installed here: install the package chromium (apt-get install "
               "chromium) or set "
               "WEB_BROWSER_PATH, and restart the server. Until then web_scrape reads pages that need no JavaScript.";
    }
    if (find_browser_host(config).empty())
        return std::string("web_browse needs the program ") + host_name +
               " beside container-mcp-launcher: build or install it, and restart the server.";
    return {};
}

browser_options browser_options_from(const settings& config)
{
    browser_options options;
    options.host_path = find_browser_host(config);
    options.program = find_browser_program(config);
    if (!config.web_ca_file.empty()) options.certificates = file_text(config.web_ca_file);
    options.memory = config.web_browser_memory_limit;
    options.pages = config.web_browser_max_pages;
    options.idle = config.web_browser_idle_timeout;
    return options;
}

}  // namespace cmcp
