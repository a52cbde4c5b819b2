#include "files/sandbox_homes.hpp"
#include "test/execution/files/file_support.hpp"
#include "test/support/temporary_folder.hpp"

#include <algorithm>
#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

caller named(std::string principal, std::string session = {})
{
    caller who;
    who.principal = std::move(principal);
    who.session = std::move(session);
    return who;
}

void write(const fs::path& file)
{
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "text";
}

}  // namespace

TEST_CASE("each caller's default sandbox has a folder of its own, where earlier versions had the caller's files")
{
    const sandbox_homes homes("/data", false);
    CHECK(homes.of({}) == "workspace");
    CHECK(homes.of(named("ann")) == "callers/ann/workspace");
    CHECK(homes.of(named("ann", "session")) == "callers/ann/workspace");
    CHECK(homes.of(named("../../etc")) == "callers/%2e%2e%2f%2e%2e%2fetc/workspace");
}

TEST_CASE("no two principals have the same folder")
{
    CHECK(sandbox_homes::safe_name("a/b") != sandbox_homes::safe_name("a%2fb"));
    CHECK(sandbox_homes::safe_name("..") == "%2e%2e");
    CHECK(sandbox_homes::safe_name(std::string(500, 'x')) != sandbox_homes::safe_name(std::string(501, 'x')));
    CHECK(sandbox_homes::safe_name(std::string(500, 'x')).size() < 120);
    CHECK_FALSE(sandbox_homes::safe_name("").empty());
    CHECK(sandbox_homes::safe_name("Ümläut\n").find_first_of("/\n") == std::string::npos);
}

TEST_CASE("the folder of a session does not show the session's id")
{
    const sandbox_homes homes("/data", true);
    const auto home = homes.of(named("", "secret-session-id"));
    CHECK_FALSE(contains(home, "secret"));
    CHECK(sandbox_homes::is_of_session(home));
    CHECK(home != homes.of(named("", "another")));
    CHECK(home != homes.of(named("ann", "secret-session-id")));
    CHECK(homes.of(named("")) == "workspace");
}

TEST_CASE("principals with files are found by their folder; kept outputs alone are none")
{
    temporary_folder root;
    const sandbox_homes homes(root.path, false);
    const auto folder = [&](const caller& who) { return root.path / homes.of(who); };
    CHECK(homes.principals().empty());
    CHECK_FALSE(homes.is_used("ann"));
    write(folder(named("ann")) / ".outputs" / "a.txt");
    write(folder(named("https://issuer.example|bob+c")) / "a.txt");
    write(folder(named(std::string(300, 'x'))) / "a.txt");
    CHECK_FALSE(homes.is_used("ann"));
    CHECK(homes.is_used("https://issuer.example|bob+c"));
    auto found_names = homes.principals();
    std::ranges::sort(found_names);
    CHECK(found_names == std::vector<std::string>{"ann", "https://issuer.example|bob+c"});
    CHECK(homes.count() == 3);
    write(folder(caller()) / "b.txt");
    CHECK(homes.principals().size() == 3);
    CHECK(homes.is_used(""));
}

TEST_CASE("the rest of a result has a name that says which server keeps it")
{
    CHECK(sandbox_homes::is_stored_output(".outputs/out_n1_0123456789abcdef0123456789abcdef.txt"));
    CHECK(sandbox_homes::is_stored_output("out_n1_0123456789abcdef0123456789abcdef.txt"));
    CHECK_FALSE(sandbox_homes::is_stored_output(".outputs/0123456789abcdef0123456789abcdef.txt"));
    CHECK_FALSE(sandbox_homes::is_stored_output("out.txt"));
}
