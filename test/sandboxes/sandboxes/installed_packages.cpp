#include "sandboxes/sandbox_paths.hpp"
#include "test/execution/runs/run_support.hpp"
#include "test/support/catch.hpp"

#include <filesystem>
#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, const std::string& text)
{
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

void put_distribution(const fs::path& site, const std::string& name, const std::string& version, bool whole)
{
    const fs::path folder = site / (name + "-" + version + ".dist-info");
    put(folder / "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n\nName: no\n");
    if (whole) put(folder / "RECORD", "");
}

using versions = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("the packages of a workspace are those that are whole")
{
    temporary_folder folder;
    const fs::path site = folder.path / ".local/lib/python3.11/site-packages";
    CHECK(installed_packages(folder.path).empty());
    put_distribution(site, "Some_Thing", "1.0", true);
    put_distribution(site, "half", "2.0", false);
    put(folder.path / "node_modules/left/package.json", R"({"version": "3.1.0"})");
    put(folder.path / "node_modules/@own/right/package.json", R"({"version": "4.0.0"})");
    put(folder.path / "node_modules/broken/package.json", "{");
    CHECK(installed_packages(folder.path) ==
          versions{{"some-thing", "1.0"}, {"npm:left", "3.1.0"}, {"npm:@own/right", "4.0.0"}});
}

TEST_CASE("looking for packages follows no link out of the workspace")
{
    temporary_folder folder;
    put_distribution(folder.path / "outside", "secret", "1.0", true);
    put_distribution(folder.path / "outside", "half", "1.0", false);
    fs::create_directories(folder.path / "workspace/.local/lib/python3.11");
    fs::create_directory_symlink(folder.path / "outside",
                                 folder.path / "workspace/.local/lib/python3.11/site-packages");
    fs::create_directories(folder.path / "trash");
    CHECK(installed_packages(folder.path / "workspace").empty());
    remove_half_installed(folder.path / "workspace", folder.path / "trash");
    CHECK(fs::exists(folder.path / "outside/half-1.0.dist-info"));
}

TEST_CASE("what an installation that was cut off left half done is taken away once, and nothing else")
{
    temporary_folder folder;
    const sandbox_paths paths(folder.path);
    sandbox_record of;
    of.id = "sbx";
    paths.make(of);
    const fs::path site = paths.files(of) / ".local/lib/python3.11/site-packages";
    put_distribution(site, "whole", "1.0", true);
    put_distribution(site, "half", "2.0", false);
    CHECK_FALSE(paths.end_marked_installs(of));
    CHECK(fs::exists(site / "half-2.0.dist-info"));
    const std::string first = paths.mark_install("sbx"), second = paths.mark_install("sbx");
    paths.unmark_install("sbx", first);
    CHECK(paths.end_marked_installs(of));
    CHECK_FALSE(fs::exists(site / "half-2.0.dist-info"));
    CHECK(installed_packages(paths.files(of)) == versions{{"whole", "1.0"}});
    CHECK_FALSE(paths.end_marked_installs(of));
}
