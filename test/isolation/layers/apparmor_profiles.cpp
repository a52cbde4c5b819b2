#include "facilities/apparmor.hpp"
#include "test/support/catch.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace cmcp::sandbox;

namespace {

namespace fs = std::filesystem;

// Compiled, not loaded: that works on any kernel and for any user.
bool compiles(const std::string& file)
{
    const char* parser =
        ::access("/usr/sbin/apparmor_parser", X_OK) == 0 ? "/usr/sbin/apparmor_parser" : "/sbin/apparmor_parser";
    INFO("the package apparmor brings apparmor_parser");
    REQUIRE(::access(parser, X_OK) == 0);
    return std::system((std::string(parser) + " -QK " + file + " >/dev/null 2>&1").c_str()) == 0;
}

const std::string profile_folder = std::string(CMCP_SOURCE_DIR) + "/container/apparmor/";

}  // namespace

TEST_CASE("the AppArmor profiles compile")
{
    for (const char* name : {"container-mcp", "container-mcp-bash", "container-mcp-python"}) {
        INFO(name);
        CHECK(compiles(profile_folder + name));
    }
}

TEST_CASE("a broken AppArmor profile does not pass for a good one")
{
    std::string folder = "/tmp/cmcp-apparmor-XXXXXX";
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    std::ofstream(folder + "/broken") << "profile broken { nonsense, }\n";
    CHECK_FALSE(compiles(folder + "/broken"));
    fs::remove_all(folder);
}

TEST_CASE("each interpreter has a profile that is there")
{
    CHECK(apparmor_profile_for("/usr/bin/bash") == "container-mcp-bash");
    CHECK(apparmor_profile_for("/usr/bin/python3.11") == "container-mcp-python");
    for (const char* program : {"/usr/bin/bash", "/usr/bin/python3", "/usr/bin/perl"})
        CHECK(fs::exists(profile_folder + apparmor_profile_for(program)));
}

TEST_CASE("without AppArmor in the kernel no profile is claimed")
{
    if (apparmor_enabled()) return;
    CHECK(apparmor_profile().find("container-mcp") == std::string::npos);
    CHECK(enter_apparmor_at_exec("container-mcp-bash") != 0);
}
