#include "launcher/browser.hpp"

#include "jail/system_files.hpp"
#include "launcher/browser_calls.hpp"
#include "launcher/view_store.hpp"

#include <filesystem>
#include <utility>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t most_ports = 15;  // a packet holds them and a pidfd
constexpr const char* browser_home = "/home/browser";

// Chromium and Google Chrome read their managed policy from different folders.
constexpr const char* policy_files[] = {"/etc/chromium/policies/managed/container-mcp.json",
                                        "/etc/opt/chrome/policies/managed/container-mcp.json"};

run_limits limits_of(const browser_program& program)
{
    run_limits limits;
    limits.wall = std::chrono::hours(24 * 366);
    limits.memory = program.memory;
    limits.processes = 3000;  // a page with a dozen frames of other sites has some 500
    limits.tmp_size = 256ull << 20;
    return limits;
}

}  // namespace

std::string complete_browser(start_message& start, const browser_program& program)
{
    run_request& request = start.request;
    if (program.path.empty()) return "This launcher was started without a browser.";
    if (request.browser.ports > most_ports || request.argv.empty() || !start.has_script)
        return "A browser needs a channel, and 15 ports at most.";
    if (!request.doors.empty()) return "A browser has no network of a sandbox.";
    run_request browser;
    browser.argv = std::move(request.argv);
    browser.argv[0] = program.path;
    browser.principal = std::move(request.principal);
    browser.workspace_inside = browser_home;
    browser.environment = {{"DBUS_SESSION_BUS_ADDRESS", "disabled:"}};
    browser.limits = limits_of(program);
    browser.browser = std::move(request.browser);
    browser.browser.may_lack_own_sandbox = program.may_lack_own_sandbox;
    request = std::move(browser);
    start.probe = false;
    return {};
}

// A browser that is not a package of the system brings its libraries in its own folder.
void add_browser_files(tree_builder& tree, view& filled, const run_request& request)
{
    for (const char* path : policy_files) tree.file(path, request.browser.policy);
    if (const char* fonts = "/var/cache/fontconfig"; fs::is_directory(fonts)) bind_read_only(tree, fonts);
    const std::string program = request.argv.at(0);
    const std::string folder = fs::path(program).parent_path().string();
    if (!tree.exists(program)) bind_read_only(tree, folder);
    filled.writable_may_execute = false;
    filled.rules.read_execute.push_back(folder);
    filled.rules.read_write.emplace_back("/proc");  // where its own sandbox maps users
}

const bpf_program& browser_filter()
{
    static const bpf_program filter = compile_rules(browser_calls(), ENOSYS);
    return filter;
}

}  // namespace cmcp::sandbox
