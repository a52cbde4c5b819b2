#include "facilities/capabilities.hpp"
#include "facilities/landlock.hpp"
#include "probe/probe_facts.hpp"
#include "test/isolation/layers/in_child.hpp"
#include "test/support/catch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace cmcp;
using namespace cmcp::sandbox;

namespace {

namespace fs = std::filesystem;

struct folders {
    folders()
    {
        std::string pattern = (fs::temp_directory_path() / "landlock-XXXXXX").string();
        root = ::mkdtemp(pattern.data());
        for (const char* name : {"open", "readable", "shut"}) {
            fs::create_directory(root / name);
            std::ofstream(root / name / "file") << "text";
        }
        fs::copy_file("/bin/true", root / "open" / "true");
    }
    ~folders() { fs::remove_all(root); }

    landlock_rules rules() const
    {
        return {
            {"/usr", "/lib", "/lib64"}, {(root / "readable").string()}, {(root / "open").string(), "/nowhere/at/all"}};
    }
    std::string at(const char* path) const { return (root / path).string(); }

    fs::path root;
};

bool opens(const std::string& path, int flags)
{
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (fd >= 0) ::close(fd);
    return fd >= 0;
}

bool skip()
{
    if (landlock_abi() == 0) WARN("this kernel has no Landlock: nothing was tried");
    return landlock_abi() == 0;
}

}  // namespace

TEST_CASE("Landlock keeps everything out of reach that no rule names")
{
    if (skip()) return;
    const folders f;
    const int answer = cmcp::test::in_child([&] {
        if (!apply_landlock(f.rules())) return 2;
        if (!opens(f.at("open/new"), O_WRONLY | O_CREAT)) return 3;
        if (!opens(f.at("readable/file"), O_RDONLY)) return 4;
        if (opens(f.at("readable/file"), O_WRONLY) || opens(f.at("readable/new"), O_WRONLY | O_CREAT)) return 5;
        if (opens(f.at("shut/file"), O_RDONLY) || opens("/etc/passwd", O_RDONLY)) return 6;
        if (landlock_abi() >= 3 && ::truncate(f.at("readable/file").c_str(), 0) == 0) return 7;
        if (::rename(f.at("open/file").c_str(), f.at("shut/moved").c_str()) == 0) return 8;
        return ::unlink(f.at("readable/file").c_str()) == 0 ? 9 : 0;
    });
    CHECK(answer == 0);
}

TEST_CASE("Landlock lets a program be executed only where a rule says so")
{
    if (skip()) return;
    const folders f;
    CHECK(cmcp::test::in_child([&] {
              if (!apply_landlock(f.rules())) return 2;
              ::execl(f.at("open/true").c_str(), "true", nullptr);
              return errno == EACCES ? 0 : 3;
          }) == 0);
    CHECK(cmcp::test::in_child([&] {
              if (!apply_landlock(f.rules())) return 2;
              ::execl("/usr/bin/true", "true", nullptr);
              return 3;
          }) == 0);
}

TEST_CASE("a prepared Landlock rule for execution narrows the others and takes nothing else away")
{
    if (skip()) return;
    const folders f;
    fs::create_directory(f.root / "open" / "deeper");
    const unique_fd root(::open("/", O_PATH | O_CLOEXEC));
    const fs::path listed = fs::canonical("/usr/bin/true"), other = fs::canonical("/usr/bin/false");
    std::vector<std::string> programs{listed, "/nowhere/at/all"};
    for (const char* loader : {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"})
        if (fs::exists(loader)) programs.push_back(fs::canonical(loader));
    const unique_fd execution = prepare_execution(root.get(), programs);
    const auto confined = [&](auto then) {
        return cmcp::test::in_child([&] { return apply_landlock(f.rules(), execution.get()) ? then() : 2; });
    };
    landlock_rules without = f.rules();
    without.read_only.emplace_back("/");
    CHECK(cmcp::test::in_child([&] {
              if (!apply_landlock(without, execution.get())) return 2;
              ::execl(listed.c_str(), "true", nullptr);
              return 3;
          }) == 0);
    CHECK(cmcp::test::in_child([&] {
              if (!apply_landlock(without, execution.get())) return 2;
              ::execl(other.c_str(), "false", nullptr);
              return errno == EACCES ? 0 : 3;
          }) == 0);
    CHECK(confined([&] { return opens(f.at("open/new"), O_WRONLY | O_CREAT) ? 0 : 3; }) == 0);
    CHECK(confined([&] { return opens(f.at("readable/file"), O_RDONLY) ? 0 : 3; }) == 0);
    CHECK(confined([&] { return opens(f.at("shut/file"), O_RDONLY) ? 3 : 0; }) == 0);
    const int moved = ::rename(f.at("open/file").c_str(), f.at("open/deeper/file").c_str());
    CHECK(moved == 0);
    if (landlock_abi() >= 2)
        CHECK(confined([&] {
                  return ::rename(f.at("open/deeper/file").c_str(), f.at("open/file").c_str()) == 0 ? 0 : 3;
              }) == 0);
}

TEST_CASE("Landlock keeps signals inside from version 6 on")
{
    if (landlock_abi() < 6) return;
    const int answer = cmcp::test::in_child([] {
        const pid_t parent = ::getppid();
        if (::kill(parent, 0) != 0) return 2;
        if (!apply_landlock({{"/"}, {}, {}})) return 3;
        return ::kill(parent, 0) == -1 && errno == EPERM ? 0 : 4;
    });
    CHECK(answer == 0);
}

TEST_CASE("a Landlock rule set in force shows as one level less that can be stacked")
{
    if (skip()) return;
    const int before = landlock_levels_left();
    CHECK(before > 0);
    const int after = cmcp::test::in_child([] {
        return apply_landlock({{"/"}, {}, {}}) ? landlock_levels_left() : 100;
    });
    CHECK(after == before - 1);
}

TEST_CASE("dropped capabilities do not come back with an exec")
{
    const int answer = cmcp::test::in_child([] {
        if (!drop_all_capabilities()) return 2;
        ::execl("/bin/sh", "sh", "-c",
                "grep -Eq '^CapEff:.0*$' /proc/self/status && grep -Eq '^CapPrm:.0*$' /proc/self/status", nullptr);
        return 3;
    });
    CHECK(answer == 0);
}
