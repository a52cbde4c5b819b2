#include "connect/edited_file.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <fstream>

#include <sys/stat.h>

using namespace cmcp;
using namespace cmcp::connect;
using cmcp::test::temporary_folder;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

std::string content_of(const fs::path& file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

mode_t mode_of(const fs::path& file)
{
    struct stat status {};
    ::stat(file.c_str(), &status);
    return status.st_mode & 07777;
}

std::size_t files_in(const fs::path& folder)
{
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("a file is replaced with its mode, and the former one stays beside it")
{
    const temporary_folder folder;
    const fs::path file = folder.path / "mcp.json";
    write(file, "old");
    ::chmod(file.c_str(), 0640);
    edited_file edited({file, folder.path}, false);
    CHECK(edited.text() == "old");
    const auto copy = edited.replace("new", false);
    REQUIRE(copy);
    CHECK(content_of(file) == "new");
    CHECK(content_of(*copy) == "old");
    CHECK(mode_of(file) == 0640);
    CHECK(mode_of(*copy) == 0640);
    CHECK(files_in(folder.path) == 2);
}

TEST_CASE("a file that gets a key is closed to others with its copy, whatever its mode was")
{
    for (const mode_t before : {0644, 0666, 0604, 0440, 0755, 02755}) {
        INFO(before);
        const temporary_folder folder;
        const fs::path file = folder.path / "mcp.json";
        write(file, "an earlier key");
        ::chmod(file.c_str(), before);
        edited_file edited({file, folder.path}, false);
        const auto copy = edited.replace("the key", true);
        REQUIRE(copy);
        CHECK(content_of(file) == "the key");
        CHECK(content_of(*copy) == "an earlier key");
        CHECK(mode_of(file) == 0600);
        CHECK(mode_of(*copy) == 0600);
    }
}

TEST_CASE("a new file gets its folders, and is closed to others where it holds a key")
{
    const temporary_folder folder;
    const fs::path file = folder.path / "a/b/mcp.json";
    edited_file edited({file, folder.path}, false);
    CHECK_FALSE(edited.exists());
    CHECK_FALSE(edited.replace("x", true));
    CHECK(mode_of(file) == 0600);
    edited_file open({folder.path / "plain.json", folder.path}, false);
    open.replace("x", false);
    CHECK(mode_of(folder.path / "plain.json") == 0644);
}

TEST_CASE("links are followed inside of the folder alone")
{
    const temporary_folder folder, elsewhere;
    write(folder.path / "real.json", "inside");
    write(elsewhere.path / "real.json", "outside");
    fs::create_symlink("real.json", folder.path / "near.json");
    fs::create_symlink(elsewhere.path / "real.json", folder.path / "far.json");
    fs::create_symlink(elsewhere.path, folder.path / "away");
    fs::create_symlink("loop.json", folder.path / "loop.json");

    edited_file near({folder.path / "near.json", folder.path}, false);
    CHECK(near.is_linked());
    near.replace("changed", false);
    CHECK(fs::is_symlink(folder.path / "near.json"));
    CHECK(content_of(folder.path / "real.json") == "changed");

    const auto open = [&](const char* name, bool leave) {
        return edited_file({folder.path / name, folder.path}, leave).text();
    };
    CHECK_THROWS_WITH(open("far.json", false), Catch::Matchers::Contains("leads out of"));
    CHECK_THROWS_WITH(open("away/real.json", false), Catch::Matchers::Contains("leads out of"));
    CHECK_THROWS_WITH(open("away/new.json", false), Catch::Matchers::Contains("leads out of"));
    CHECK_THROWS_WITH(open("loop.json", false), Catch::Matchers::Contains("leads to itself"));
    CHECK(open("far.json", true) == "outside");
}

TEST_CASE("what is no regular file, and what others change meanwhile, is left alone")
{
    const temporary_folder folder;
    fs::create_directory(folder.path / "folder");
    ::mkfifo((folder.path / "pipe").c_str(), 0600);
    for (const char* name : {"folder", "pipe"})
        CHECK_THROWS_WITH(edited_file({folder.path / name, folder.path}, false),
                          Catch::Matchers::Contains("no regular file"));
    const fs::path file = folder.path / "mcp.json";
    write(file, "old");
    edited_file edited({file, folder.path}, false);
    write(file, "by another");
    CHECK_THROWS_WITH(edited.replace("new", false), Catch::Matchers::Contains("by another program"));
    CHECK(content_of(file) == "by another");
}
