#include "test/program/tools/system_support.hpp"

#include "config/config_error.hpp"
#include "config/settings.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

settings with_all_tools()
{
    settings config;
    config.web_search_provider = "duckduckgo";
    config.web_browser_path = "/bin/true";
    return config;
}

std::string refusal(settings config)
{
    system_stage s(std::move(config));
    try {
        choose_tools(s.registry, s.config);
    } catch (const config_error& refused) {
        return refused.what();
    }
    return {};
}

caller with_profile(std::string profile)
{
    caller who;
    who.profile = std::move(profile);
    return who;
}

std::vector<std::string> listed(const system_stage& s, const caller& who)
{
    std::vector<std::string> names;
    for (const auto* each : s.registry.listed(who)) names.push_back(each->definition().name);
    return names;
}

std::size_t words_in(const std::string& text)
{
    std::istringstream stream(text);
    return static_cast<std::size_t>(
        std::distance(std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()));
}

}  // namespace

TEST_CASE("the profiles show the tools of their purpose, and none that there is not")
{
    system_stage s(with_all_tools());
    choose_tools(s.registry, s.config);
    CHECK(listed(s, {}).size() == s.registry.all().size() - 2);  // but for those of `discover`
    CHECK(listed(s, with_profile("all")) == listed(s, {}));
    CHECK(listed(s, with_profile("seed-b")) ==
          std::vector<std::string>{"initialize_sandbox", "execute_code", "stop_sandbox"});
    CHECK(listed(s, with_profile("seed-a")).size() == 11);
    CHECK(listed(s, with_profile("seed-c")).size() == 7);
    CHECK(listed(s, with_profile("interpreter")).size() == 9);
    CHECK(listed(s, with_profile("discover")) == std::vector<std::string>{"search_tools", "call_tool"});
    const auto agent = listed(s, with_profile("agent"));
    CHECK(agent.size() == 14);
    for (const char* name : {"execute_terminal_command", "execute_python_code", "file_read", "view_file", "job_poll",
                             "job_kill", "web_scrape", "expose_port"})
        CHECK(std::ranges::find(agent, name) != agent.end());
}

TEST_CASE("TOOLS takes names, patterns and profiles, and refuses what means nothing")
{
    settings config = with_all_tools();
    config.tools = {"seed-b", "job_*", "file_read"};
    system_stage s(config);
    choose_tools(s.registry, s.config);
    CHECK(listed(s, {}) == std::vector<std::string>{"file_read", "initialize_sandbox", "execute_code", "stop_sandbox",
                                                    "job_poll", "job_list", "job_kill"});
    config.tools = {"file_raed"};
    CHECK(refusal(config).find(
              "\"file_raed\"; the profiles are agent, all, discover, interpreter, seed-a, seed-b, seed-c") !=
          std::string::npos);
    config.tools = {"web_*"};
    config.enable_web = false;
    CHECK(refusal(config).find("TOOLS_ENABLE_") != std::string::npos);
}

TEST_CASE("MCP_AUTH_PROFILES gives the callers of a token their profile")
{
    settings config = with_all_tools();
    config.auth_tokens = {{"anna", "0123456789abcdef"}};
    config.auth_profiles = {{"anna", "seed-b"}};
    system_stage s(config);
    choose_tools(s.registry, s.config);
    caller anna;
    anna.principal = "anna";
    CHECK(listed(s, anna).size() == 3);
    CHECK(listed(s, {}).size() == s.registry.all().size() - 2);  // but for those of `discover`
    config.auth_profiles = {{"anna", "agents"}};
    CHECK(refusal(config).find("no profile agents; the profiles are agent, all") != std::string::npos);
    config.auth_profiles = {{"ben", "agent"}};
    CHECK(refusal(config).find("no token of the name ben") != std::string::npos);
}

TEST_CASE("no profile is told of a tool that it does not show")
{
    system_stage s(with_all_tools());
    choose_tools(s.registry, s.config);
    s.registry.give_to_code();
    const auto names_in = [&](const std::string& text) {
        std::vector<std::string> names;
        for (const auto& each : s.registry.all())
            if (std::regex_search(text, std::regex("\\b" + each->definition().name + "\\b")))
                names.push_back(each->definition().name);
        return names;
    };
    for (const char* profile : {"agent", "interpreter", "seed-a", "seed-b", "seed-c"}) {
        const auto shown = listed(s, with_profile(profile));
        std::string text = instructions_for(s.registry, with_profile(profile));
        if (std::string_view(profile) == "agent")
            for (const auto* each : s.registry.listed(with_profile(profile)))
                text += " " + each->definition().description;
        for (const auto& name : names_in(text)) {
            INFO(profile << " is told of " << name << ": " << text);
            CHECK(std::ranges::find(shown, name) != shown.end());
        }
    }
}

TEST_CASE("instructions speak of the tools that are shown, in at most 200 words")
{
    system_stage s(with_all_tools());
    choose_tools(s.registry, s.config);
    CHECK(instructions_for(s.registry, {}).find("import tools") == std::string::npos);
    s.registry.give_to_code();
    const auto all = instructions_for(s.registry, {});
    INFO(all);
    CHECK(all.find("import tools") != std::string::npos);
    CHECK(words_in(all) <= 200);
    for (const char* tool : {"system_run_command", "create_sandbox", "web_scrape", "view_file", "job_poll"})
        CHECK(all.find(tool) != std::string::npos);
    const auto agent = instructions_for(s.registry, with_profile("agent"));
    INFO(agent);
    CHECK(agent.starts_with("You have a sandbox. execute_terminal_command, execute_python_code and file_* work in it"));
    const auto seed_b = instructions_for(s.registry, with_profile("seed-b"));
    CHECK(seed_b.find("create_sandbox") == std::string::npos);
    CHECK(instructions_for(s.registry, with_profile("discover")).starts_with("search_tools finds"));
    CHECK(all.find("search_tools") == std::string::npos);
}
