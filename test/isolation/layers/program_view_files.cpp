#include "jail/elf_needed.hpp"
#include "jail/program_view.hpp"
#include "jail/python_data.hpp"
#include "test/support/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace cmcp::sandbox;

namespace {

namespace fs = std::filesystem;

bool has(const std::vector<std::string>& list, const std::string& path)
{
    return std::find(list.begin(), list.end(), path) != list.end();
}

bool has_named(const std::vector<std::string>& list, std::string_view part)
{
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& path) { return path.find(part) != std::string::npos; });
}

struct folder {
    folder()
    {
        std::string pattern = (fs::temp_directory_path() / "view-XXXXXX").string();
        path = ::mkdtemp(pattern.data());
    }
    ~folder() { fs::remove_all(path); }
    std::string write(const std::string& name, const std::string& text) const
    {
        std::ofstream(path / name, std::ios::binary) << text;
        return (path / name).string();
    }
    fs::path path;
};

std::string read_all(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a view holds the listed programs with their libraries and nothing else")
{
    const view_files files = resolve_view({false, {"ls", "cat"}}, {"/usr/bin/bash"});
    CHECK(files.programs == std::vector<std::string>{"/usr/bin/bash", "/usr/bin/cat", "/usr/bin/ls"});
    CHECK(has_named(files.libraries, "/libc.so.6"));
    CHECK(has_named(files.libraries, "/libselinux.so.1"));
    CHECK(has_named(files.libraries, "/libtinfo.so.6"));
    CHECK(has_named(files.libraries, "/ld-linux-"));
    CHECK_FALSE(has_named(files.libraries, "python"));
    CHECK_FALSE(has_named(files.programs, "/id"));
    CHECK(files.unknown.empty());
}

TEST_CASE("every path of a view is free of symlinks and exists")
{
    const view_files files = resolve_view({false, {"ls", "awk", "tar", "python3"}}, {"/bin/sh"});
    for (const auto* list : {&files.programs, &files.libraries, &files.directories})
        for (const std::string& path : *list) CHECK(fs::canonical(path).string() == path);
    for (const auto& [link, target] : files.links) CHECK(fs::canonical(link).string() == target);
}

TEST_CASE("a program that is reached by symlinks keeps its name inside")
{
    const view_files files = resolve_view({false, {"awk"}}, {"/bin/sh"});
    const std::string real = fs::canonical("/usr/bin/awk").string();
    CHECK(has(files.programs, real));
    const std::pair<std::string, std::string> link{"/usr/bin/awk", real};
    CHECK((real == link.first || std::find(files.links.begin(), files.links.end(), link) != files.links.end()));
}

TEST_CASE("names that no folder has, and names that are paths, are reported as unknown")
{
    const view_files files =
        resolve_view({false, {"ls", "no-such-program", "../bin/id", "", ".", "cd"}}, {"/usr/bin/bash"});
    CHECK(files.unknown == std::vector<std::string>{"no-such-program", "../bin/id", "", ".", "cd"});
    CHECK_FALSE(has_named(files.programs, "/id"));
}

TEST_CASE("a script brings no interpreter with it")
{
    const folder f;
    const std::string script = f.write("hello", "#!/usr/bin/perl\n");
    constexpr auto for_all = fs::perms::others_read | fs::perms::others_exec;
    fs::permissions(script, fs::perms::owner_all | for_all);
    const view_files files = resolve_view({false, {script}}, {"/usr/bin/bash"});
    CHECK(has(files.programs, fs::canonical(script).string()));
    CHECK_FALSE(has_named(files.programs, "perl"));
}

TEST_CASE("python comes with its standard library and what its modules load")
{
    if (!fs::exists("/usr/bin/python3")) return;
    const view_files files = resolve_view({false, {}}, {"/usr/bin/python3"});
    const std::string version = fs::canonical("/usr/bin/python3").filename().string();
    CHECK(has(files.directories, "/usr/lib/" + version));
    CHECK(has_named(files.libraries, "/libz.so.1"));
    CHECK(has_named(files.libraries, "/libcrypto.so"));
    CHECK_FALSE(has_named(files.programs, "bash"));
}

TEST_CASE("python comes with the fonts, and with the folders in which its packages keep their data")
{
    if (!fs::exists("/usr/bin/python3")) return;
    const view_files files = resolve_view({false, {}}, {"/usr/bin/python3"});
    if (fs::exists("/usr/share/fonts")) CHECK(has(files.directories, "/usr/share/fonts"));
    if (fs::exists("/usr/share/matplotlib/mpl-data")) CHECK(has(files.directories, "/usr/share/matplotlib"));
    CHECK_FALSE(has(files.directories, "/usr/share"));
}

TEST_CASE("data of Python packages is found by the package's name and by links, and nothing else is")
{
    const folder f;
    for (const char* name : {"modules/plots", "modules/web/pages", "share/plots/data", "share/python3-web",
                             "share/other", "share/scripts/x"})
        fs::create_directories(f.path / name);
    f.write("share/scripts/x/a.js", "");
    f.write("share/alone.js", "");
    f.write("modules/other.py", "");
    f.write("secret", "");
    fs::create_symlink("../../../share/scripts/x/a.js", f.path / "modules/web/pages/a.js");
    fs::create_symlink("../share/alone.js", f.path / "modules/alone.js");
    fs::create_symlink("../share", f.path / "modules/all");
    fs::create_symlink("../secret", f.path / "modules/secret");
    fs::create_symlink("nowhere", f.path / "modules/broken");
    const auto share = fs::canonical(f.path / "share");
    const auto folders = python_data_folders((f.path / "modules").string(), share.string());
    CHECK(folders == std::vector<std::string>{share / "plots", share / "python3-web", share / "scripts"});
    CHECK(python_data_folders((f.path / "absent").string(), share.string()).empty());
}

TEST_CASE("the marks of a view are untrue once a program was added")
{
    const folder f;
    const view_files files = resolve_view({false, {(f.path / "tool").string()}}, {"/usr/bin/bash"});
    CHECK(files.unknown.size() == 1);
    CHECK(files.marks.still_true());
    fs::copy("/usr/bin/true", f.path / "tool");
    CHECK_FALSE(files.marks.still_true());
}

TEST_CASE("a view of everything lists nothing")
{
    const view_files files = resolve_view({true, {"ls"}}, {"/usr/bin/bash"});
    CHECK((files.programs.empty() && files.libraries.empty() && files.directories.empty()));
}

TEST_CASE("the ELF reader tells a script from a program")
{
    const folder f;
    CHECK_FALSE(read_elf_needed(f.write("script", "#!/bin/sh\n")));
    CHECK_FALSE(read_elf_needed(f.write("empty", "")));
    const auto ls = read_elf_needed("/usr/bin/ls");
    REQUIRE(ls);
    CHECK(has(ls->libraries, "libc.so.6"));
    CHECK(ls->interpreter.find("/ld-linux-") != std::string::npos);
}

TEST_CASE("the ELF reader refuses a truncated file or reads it, but never fails otherwise")
{
    const folder f;
    const std::string whole = read_all("/usr/bin/true");
    for (std::size_t size = 0; size < std::min<std::size_t>(whole.size(), 2048); size += 7) {
        const std::string path = f.write("cut", whole.substr(0, size));
        try {
            const auto read = read_elf_needed(path);
            CHECK((size < 4 || read.has_value()));
        } catch (const std::runtime_error& refused) {
            CHECK(std::string(refused.what()).find(path) != std::string::npos);
        }
    }
    CHECK_THROWS_AS(read_elf_needed(f.write("head", whole.substr(0, 20))), std::runtime_error);
    CHECK_THROWS_AS(read_elf_needed((f.path / "absent").string()), std::runtime_error);
}

TEST_CASE("the ELF reader survives every damaged byte of the headers")
{
    const folder f;
    const std::string whole = read_all("/usr/bin/true");
    for (std::size_t at = 4; at < 64 + 13 * 56; ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(0xff);
        try {
            read_elf_needed(f.write("damaged", damaged));
        } catch (const std::runtime_error& refused) {
            CHECK(std::string(refused.what()).find("damaged") != std::string::npos);
        }
    }
}
