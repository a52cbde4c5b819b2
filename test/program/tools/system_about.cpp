#include "config/settings.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "sandboxes/sandbox_resources.hpp"
#include "test/program/tools/system_support.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

using namespace cmcp;
using namespace cmcp::test;

namespace {

settings with_secret()
{
    settings config = all_programs();
    config.auth_tokens = {{"me", "very-secret-token"}};
    return config;
}

settings without_browser()
{
    settings config;
    config.web_browser_path = "/nowhere/chromium";
    return config;
}

bool offers(const system_stage& s, std::string_view name)
{
    const auto& all = s.registry.all();
    return std::any_of(all.begin(), all.end(), [name](const auto& each) { return each->definition().name == name; });
}

bool takes(const system_stage& s, std::string_view tool, std::string_view argument)
{
    return s.registry.find(tool)->definition().input_schema.at("properties").as_object().contains(argument);
}

// The header that a client of 2026-07-28 has to send beside an argument; empty: none.
std::string header_of(std::string_view tool, std::string_view argument)
{
    static const std::map<std::string_view, std::string> headers{
        {"sandbox_id", "Sandbox-Id"}, {"job_id", "Job-Id"}, {"shell_id", "Shell-Id"}, {"snapshot", "Snapshot-Id"}};
    if (tool == "snapshot_sandbox" && argument == "name") return "Snapshot-Id";
    const auto known = headers.find(argument);
    if (known != headers.end()) return known->second;
    CHECK_FALSE(argument.ends_with("_id"));
    return {};
}

std::string header_in(const json::value& described)
{
    const auto* header = described.as_object().if_contains("x-mcp-header");
    return header ? std::string(header->as_string()) : std::string();
}

}  // namespace

TEST_CASE("settings are shown, secrets and the server's environment are not")
{
    ::setenv("CMCP_TEST_SECRET", "from-the-environment", 1);
    system_stage s(with_secret());
    const auto all = s.call("system_env_var", {}).structured;
    CHECK(all.at("variables").at("BASH_TIMEOUT_MAX") == "120");
    CHECK(all.at("requested_var").is_null());
    CHECK(json::serialize(all).find("very-secret-token") == std::string::npos);
    CHECK(json::serialize(all).find("from-the-environment") == std::string::npos);
    for (const char* name : {"CMCP_TEST_SECRET", "cmcp_test_secret", "MCP_AUTH_TOKENS", "*", "LD_PRELOAD"}) {
        const auto refused = s.call("system_env_var", {{"var_name", name}});
        CHECK(refused.is_error);
        CHECK(refused.structured.at("requested_var").is_null());
        CHECK(refused.structured.at("variables").as_object().empty());
        CHECK(refused.structured.at("success") == false);
    }
}

TEST_CASE("the variables of the sandbox are shown as a run sees them")
{
    system_stage s;
    for (const char* name : {"PATH", "HOME", "LANG", "TERM", "USER", "LOGNAME"}) {
        const auto shown = s.call("system_env_var", {{"var_name", name}}).structured;
        const std::string seen = text(s.bash(std::string("echo \"$") + name + "\""), "stdout");
        CHECK(shown.at("variables").as_object().size() == 1);
        CHECK(text(shown.at("variables").as_object(), name) + "\n" == seen);
    }
}

TEST_CASE("system_info tells versions, limits and layers")
{
    system_stage s;
    const auto about = s.call("system_info", {}).structured;
    INFO(json::serialize(about));
    CHECK(text(about, "name") == "container-mcp");
    CHECK(text(about, "python_version").find("3.") == 0);
    CHECK(text(about, "bash_version").find("5.") == 0);
    CHECK(about.at("protocol_revisions").as_array().size() == 5);
    CHECK_FALSE(about.at("layers").as_array().empty());
    CHECK(about.at("limits").at("bash_timeout_max_s") == 120.0);
    CHECK(json::serialize(about.at("allowed_commands")) == "[\"*\"]");
    CHECK(s.progress.messages.empty());
}

TEST_CASE("the tools are on offer in a fixed order, and groups can be left out")
{
    const auto names = [](const settings& config) {
        system_stage s(config);
        std::string all;
        for (const auto& one : s.registry.all()) all += one->definition().name + " ";
        return all;
    };
    const std::string system = "system_run_command system_run_python system_env_var system_info ";
    const std::string file = "file_read file_write file_edit file_list file_delete file_move file_search view_file ";
    const std::string web = "web_search web_scrape ", discovery = "search_tools call_tool ";
    const std::string sandbox =
        "initialize_sandbox execute_code stop_sandbox create_sandbox list_sandboxes delete_sandbox execute_python_code "
        "execute_terminal_command install_packages_in_sandbox upload_file_to_sandbox download_file_from_sandbox "
        "list_sandbox_files fork_sandbox "
        "snapshot_sandbox restore_sandbox interrupt_kernel restart_kernel pause_sandbox resume_sandbox "
        "expose_port list_exposed_ports unexpose_port "
        "shell_open shell_send shell_read shell_close job_poll job_list job_kill ";
    settings config = without_browser();
    config.web_search_provider = "duckduckgo";
    CHECK(names(config) == system + file + web + discovery + sandbox);
    config.enable_file = false;
    CHECK(names(config) == system + "view_file " + web + discovery + sandbox);
    config.enable_file = true;
    config.enable_system = false;
    CHECK(names(config) == file + web + discovery + sandbox);
    config.enable_web = false;
    config.enable_sandbox = false;
    config.enable_system = true;
    config.enable_file = false;
    CHECK(names(config) == system + discovery);
}

TEST_CASE("every argument that takes a handle names the header that repeats it, and clients are shown it")
{
    settings config;
    config.web_search_provider = "duckduckgo";
    config.web_browser_path = "/bin/true";
    system_stage s(std::move(config));
    std::map<std::string, int> seen;
    for (const auto& one : s.registry.all()) {
        const auto& about = one->definition();
        const auto& listed = about.listed_schema.empty() ? about.input_schema : about.listed_schema;
        for (const auto& each : about.input_schema.at("properties").as_object()) {
            const auto wanted = header_of(about.name, each.key());
            CAPTURE(about.name, std::string(each.key()));
            CHECK(header_in(each.value()) == wanted);
            if (wanted.empty()) continue;
            ++seen[wanted];
            REQUIRE(listed.at("properties").as_object().contains(each.key()));
            CHECK(header_in(listed.at("properties").at(each.key())) == wanted);
        }
    }
    CHECK(seen["Sandbox-Id"] > 20);
    CHECK(seen["Shell-Id"] == 3);
    CHECK(seen["Job-Id"] == 2);
    CHECK(seen["Snapshot-Id"] == 2);
}

TEST_CASE("tools that cannot work are not offered; instructions and their answers say what switches them on")
{
    system_stage s(without_browser());
    const std::string instructions = instructions_for(s.registry, {});
    INFO(instructions);
    for (const auto& [tool, cure] : {std::pair<const char*, const char*>{"web_search", "WEB_SEARCH_PROVIDER"},
                                     {"web_browse", "WEB_BROWSER_PATH"}}) {
        CHECK_FALSE(offers(s, tool));
        const auto position = instructions.find(std::string("Not available here: ") + tool + ".");
        REQUIRE(position != std::string::npos);
        CHECK(instructions.find(cure, position) != std::string::npos);
    }
    CHECK(instructions.find("web_scrape reads web pages.") != std::string::npos);
    CHECK(text(s.call("web_search", {{"query", "x"}}).structured, "error").find("WEB_SEARCH_PROVIDER") !=
          std::string::npos);
    CHECK(text(s.call("web_browse", {{"url", "https://example.com/"}}).structured, "error").find("WEB_BROWSER_PATH") !=
          std::string::npos);
}

TEST_CASE("a provider and a browser bring their tools back")
{
    settings config;
    config.web_search_provider = "duckduckgo";
    config.web_browser_path = "/bin/true";
    system_stage s(config);
    const std::string instructions = instructions_for(s.registry, {});
    INFO(instructions);
    CHECK(offers(s, "web_search"));
    CHECK(offers(s, "web_browse"));
    CHECK(instructions.find("Not available here: web_search") == std::string::npos);
}

TEST_CASE("runs in the background are offered only where there are jobs")
{
    settings config;
    for (const bool jobs : {true, false}) {
        config.enable_sandbox = jobs;
        system_stage s(config);
        for (const char* tool : {"system_run_command", "system_run_python"})
            CHECK(takes(s, tool, "run_in_background") == jobs);
        CHECK((instructions_for(s.registry, {}).find("run_in_background") != std::string::npos) == jobs);
    }
}

TEST_CASE("what file_write wrote a run can open, and long output can be paged with file_read")
{
    system_stage s;
    s.call("file_write", {{"path", "data/in.txt"}, {"content", "from the file tool"}});
    CHECK(text(s.python("print(open('data/in.txt').read())"), "output") == "from the file tool\n");
    const std::string path = text(s.bash("seq 3000000", {{"max_output", 100}}), "output_path");
    const auto page = s.call("file_read", {{"path", path}, {"offset", 20'000'000}, {"limit", 16}});
    INFO(json::serialize(page.structured));
    CHECK(text(page.structured, "content") == "2638889\n2638890\n");
}

TEST_CASE("long output can be paged with resources/read, by its owner only")
{
    system_stage s;
    const std::string uri = text(s.bash("seq 100000", {{"max_output", 100}}), "output_uri");
    sandbox_resources pages(*s.all->sandboxes, *s.all->sandbox_files_, *s.all->watch, *s.all->pool);
    const auto read = [&](caller who, std::string part) { return run_coroutine(s.io, pages.read(who, uri + part)); };
    const auto page = read(caller(), "?offset=588888&limit=7");
    REQUIRE(page);
    CHECK(page->at(0).at("text") == "100000\n");
    CHECK(page->at(0).at("_meta").at("size") == 588895);
    const auto beginning = read(caller(), "")->at(0);
    CHECK(beginning.at("text").as_string().size() < 32 * 1024);
    const auto next = beginning.at("_meta").at("next_offset").to_number<std::size_t>();
    const auto next_page = read(caller(), "?offset=" + std::to_string(next) + "&limit=10");
    CHECK(beginning.at("text").as_string().starts_with("1\n2\n3\n"));
    CHECK(next_page->at(0).at("_meta").at("next_offset") == next + 10);
    caller stranger;
    stranger.principal = "stranger";
    CHECK_FALSE(read(stranger, "?offset=0"));
    CHECK_THROWS_AS(read(caller(), "?offset=-1"), rpc_error);
    CHECK_THROWS_AS(read(caller(), "?from=1"), rpc_error);
}
