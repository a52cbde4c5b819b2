#include "files/trees.hpp"

#include "posix/unique_fd.hpp"
#include "test/execution/files/file_support.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <iostream>
#include <system_error>

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// While it lives, this process may open few files more.
struct few_descriptors {
    few_descriptors()
    {
        ::getrlimit(RLIMIT_NOFILE, &before);
        rlimit few = before;
        few.rlim_cur = 200;
        ::setrlimit(RLIMIT_NOFILE, &few);
    }
    few_descriptors(const few_descriptors&) = delete;
    few_descriptors& operator=(const few_descriptors&) = delete;
    ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before); }

    rlimit before{};
};

constexpr uid_t nobody = 65534;

/// While it lives, this process is nobody.
struct as_nobody {
    as_nobody() { REQUIRE(::seteuid(nobody) == 0); }
    as_nobody(const as_nobody&) = delete;
    as_nobody& operator=(const as_nobody&) = delete;
    ~as_nobody() { ::seteuid(0); }
};

bool is_root()
{
    if (::geteuid() == 0) return true;
    std::cout << "not tested: only root can make a folder that this process cannot read\n";
    return false;
}

/// A folder of a chain of folders that are named alike; an empty handle when there are not so many.
unique_fd deep_folder(const fs::path& from, int levels, const char* name)
{
    unique_fd at(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; at && i < levels; ++i) at = unique_fd(::openat(at.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return at;
}

void make_deep(const fs::path& from, int levels, const char* name)
{
    unique_fd at(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < levels; ++i) {
        REQUIRE(::mkdirat(at.get(), name, 0755) == 0);
        ::mkdirat(at.get(), "beside", 0755);
        at = unique_fd(::openat(at.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
}

}  // namespace

TEST_CASE("removing a tree takes 2,500 levels and folders without rights")
{
    file_scene scene;
    unique_fd at(::open(scene.workspace.c_str(), O_PATH | O_CLOEXEC));
    for (int i = 0; i < 2500; ++i) {
        REQUIRE(::mkdirat(at.get(), "d", 0755) == 0);
        unique_fd(::openat(at.get(), "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0));
        at = unique_fd(::openat(at.get(), "d", O_PATH | O_CLOEXEC));
    }
    scene.put("sub/.removed-1", "");
    REQUIRE(::mkdir((scene.workspace / ".removed-1").c_str(), 0) == 0);
    REQUIRE(::chmod((scene.workspace / "sub").c_str(), 0) == 0);
    CHECK(whole(remove_tree(scene.workspace)));
    CHECK_FALSE(fs::exists(scene.workspace));
    CHECK(whole(remove_tree(scene.workspace)));
    CHECK(scene.outside_is_untouched());
}

TEST_CASE("the disk of a tree counts what lies 2,500 levels deep, beside it and in folders without rights")
{
    const file_scene scene;
    const std::string mebibyte(1 << 20, 'x');
    const auto write = [&](int at, const char* name) {
        const unique_fd file(::openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        CHECK(::write(file.get(), mebibyte.data(), mebibyte.size()) == 1 << 20);
    };
    unique_fd at(::open(scene.workspace.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int depth = 0; depth < 2500; ++depth) {
        ::mkdirat(at.get(), "inner", 0700);
        ::mkdirat(at.get(), "beside", 0700);
        if (depth == 5 || depth == 1000) write(unique_fd(::openat(at.get(), "beside", O_RDONLY)).get(), "file");
        at = unique_fd(::openat(at.get(), "inner", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    write(at.get(), "file");
    ::mkdirat(at.get(), "closed", 0700);
    write(unique_fd(::openat(at.get(), "closed", O_RDONLY)).get(), "file");
    ::fchmodat(at.get(), "closed", 0300, 0);
    const auto bytes = whole(disk_usage(scene.workspace));
    CHECK(bytes >= 4u << 20);
    CHECK(bytes < 40u << 20);
    CHECK(whole(scan_tree(scene.workspace)).cut);
    CHECK(whole(remove_tree(scene.workspace / "inner")));
}

TEST_CASE("a copy of a tree has the folders without rights, too, or says which one it cannot have")
{
    const file_scene scene;
    fs::create_directories(scene.workspace / "from/a/closed/inner");
    fs::create_directories(scene.workspace / "to");
    fs::permissions(scene.workspace / "from/a/closed", fs::perms(0300));
    whole(copy_tree(scene.workspace / "from", scene.workspace / "to"));
    CHECK(fs::exists(scene.workspace / "to/a/closed/inner"));
    CHECK((fs::status(scene.workspace / "to/a/closed").permissions() & fs::perms(0777)) == fs::perms(0300));
}

TEST_CASE("a copy keeps files of several names as one file, and users' extended attributes")
{
    const file_scene scene;
    fs::create_directories(scene.workspace / "from/a/b");
    fs::create_directory(scene.workspace / "to");
    file_scene::put_at(scene.workspace / "from/a/one", "text");
    fs::create_hard_link(scene.workspace / "from/a/one", scene.workspace / "from/a/b/two");
    fs::create_hard_link(scene.workspace / "from/a/one", scene.workspace / "from/three");
    const bool has_attributes = ::setxattr((scene.workspace / "from/a/one").c_str(), "user.kind", "x", 1, 0) == 0 &&
                                ::setxattr((scene.workspace / "from/a").c_str(), "user.kind", "y", 1, 0) == 0;
    whole(copy_tree(scene.workspace / "from", scene.workspace / "to"));
    CHECK(fs::hard_link_count(scene.workspace / "to/a/one") == 3);
    CHECK(fs::equivalent(scene.workspace / "to/a/one", scene.workspace / "to/a/b/two"));
    CHECK(fs::equivalent(scene.workspace / "to/a/one", scene.workspace / "to/three"));
    CHECK(scene.get("to/three") == "text");
    for (const char* path : {"to/three", "to/a"}) {
        char value = 0;
        const auto length = ::getxattr((scene.workspace / path).c_str(), "user.kind", &value, 1);
        CHECK(length == (has_attributes ? 1 : -1));
    }
}

TEST_CASE("a copy has what lies 600 levels deep, with few descriptors")
{
    const file_scene scene;
    const fs::path from = scene.workspace / "from", to = scene.workspace / "to";
    fs::create_directory(from);
    fs::create_directory(to);
    make_deep(from, 600, "inner");
    for (int depth : {10, 300, 600}) {
        const unique_fd at = deep_folder(from, depth, "inner");
        const unique_fd file(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
        CHECK(::write(file.get(), "text", 4) == 4);
    }
    {
        const few_descriptors limit;
        CHECK(whole(copy_tree(from, to)) >= 3 * 4096);
    }
    for (int depth : {10, 300, 600}) {
        const unique_fd at = deep_folder(to, depth, "inner");
        REQUIRE(at);
        const unique_fd file(::openat(at.get(), "file", O_RDONLY | O_CLOEXEC));
        char text[8]{};
        CHECK(::read(file.get(), text, sizeof text) == 4);
        CHECK(std::string(text) == "text");
        CHECK((depth == 600) == !unique_fd(::openat(at.get(), "beside", O_PATH | O_CLOEXEC)));
    }
    CHECK(whole(remove_tree(from)));
    CHECK(whole(remove_tree(to)));
}

TEST_CASE("a copy is made in slices and is the same as one that is made at once")
{
    const file_scene scene;
    fs::create_directories(scene.workspace / "from/many/more");
    fs::create_directory(scene.workspace / "to");
    for (int i = 0; i < 50; ++i)
        file_scene::put_at(scene.workspace / "from/many" / std::to_string(i), std::to_string(i));
    const std::string large((20 << 20) + 123, 'x');
    file_scene::put_at(scene.workspace / "from/many/more/large", large);
    {
        const unique_fd sparse(::open((scene.workspace / "from/sparse").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        REQUIRE(::pwrite(sparse.get(), "end", 3, 64 << 20) == 3);
    }
    fs::create_symlink("/nowhere", scene.workspace / "from/link");
    const auto copy = copy_tree(scene.workspace / "from", scene.workspace / "to");
    std::optional<std::uint64_t> bytes;
    int slices = 0;
    for (; !bytes; ++slices) bytes = copy({});
    CHECK(slices > 50);
    CHECK(*bytes >= large.size());
    CHECK(*bytes < 30u << 20);
    for (int i = 0; i < 50; ++i) CHECK(scene.get("to/many/" + std::to_string(i)) == std::to_string(i));
    CHECK(scene.get("to/many/more/large") == large);
    CHECK(fs::file_size(scene.workspace / "to/sparse") == (64u << 20) + 3);
    CHECK(whole(disk_usage(scene.workspace / "to")) < 30u << 20);
    CHECK(fs::read_symlink(scene.workspace / "to/link") == "/nowhere");
}

TEST_CASE("a folder that cannot be read is named, and the copy has not silently less")
{
    if (!is_root()) return;
    const file_scene scene;
    for (const char* folder : {"from", "from/a", "from/a/foreign", "to"})
        fs::create_directory(scene.workspace / folder);
    for (const fs::path& each : {scene.base, scene.workspace, scene.workspace / "from", scene.workspace / "from/a"})
        REQUIRE(::chown(each.c_str(), nobody, nobody) == 0);
    REQUIRE(::chown((scene.workspace / "to").c_str(), nobody, nobody) == 0);
    fs::permissions(scene.workspace / "from/a/foreign", fs::perms(0700));
    const as_nobody unprivileged;
    std::string problem;
    try {
        whole(copy_tree(scene.workspace / "from", scene.workspace / "to"));
    } catch (const std::system_error& failure) {
        problem = failure.what();
    }
    CHECK(problem == "a/foreign: Permission denied");
}

TEST_CASE("a closed folder of another user counts nothing, one that can be filled counts as full")
{
    if (!is_root()) return;
    const file_scene scene;
    for (const fs::path& each : {scene.base, scene.workspace}) REQUIRE(::chown(each.c_str(), nobody, nobody) == 0);
    fs::create_directory(scene.workspace / "strangers");
    scene.put("strangers/file", std::string(100'000, 'x'));
    fs::permissions(scene.workspace / "strangers", fs::perms(0));
    {
        const as_nobody unprivileged;
        CHECK(whole(disk_usage(scene.workspace)) < 100'000);
    }
    // Through one that can be searched, a run may reach a folder in it that all may fill.
    for (const unsigned mode : {0333u, 0311u}) {
        fs::permissions(scene.workspace / "strangers", fs::perms(mode));
        const as_nobody unprivileged;
        CHECK(whole(disk_usage(scene.workspace)) > std::uint64_t{1} << 40);
    }
}

TEST_CASE("folders that lack their owner's rights are copied, counted and removed by an ordinary user, too")
{
    if (!is_root()) return;
    const file_scene scene;
    for (const fs::path& each : {scene.base, scene.workspace}) REQUIRE(::chown(each.c_str(), nobody, nobody) == 0);
    const as_nobody unprivileged;
    for (const char* folder : {"from", "from/unsearchable", "from/fixed", "to"})
        fs::create_directory(scene.workspace / folder);
    scene.put("from/unsearchable/file", std::string(100'000, 'x'));
    scene.put("from/fixed/file", "text");
    fs::permissions(scene.workspace / "from/fixed", fs::perms(0500));
    fs::permissions(scene.workspace / "from/unsearchable", fs::perms(0400));
    CHECK(whole(disk_usage(scene.workspace / "from")) >= 100'000);
    fs::permissions(scene.workspace / "from/unsearchable", fs::perms(0400));
    whole(copy_tree(scene.workspace / "from", scene.workspace / "to"));
    CHECK(scene.mode("to/unsearchable") == 0400);
    fs::permissions(scene.workspace / "to/unsearchable", fs::perms(0700));
    CHECK(scene.get("to/unsearchable/file").size() == 100'000);
    CHECK(whole(remove_tree(scene.workspace / "from")));
    CHECK_FALSE(fs::exists(scene.workspace / "from"));
}

TEST_CASE("a scan leaves out virtual environments, whatever their names, and what tools keep")
{
    file_scene scene;
    for (const char* folder :
         {"env", "env/lib", "deep", "deep/my venv", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".tox"})
        fs::create_directory(scene.workspace / folder);
    for (const char* file : {"env/lib/a.py", "env/pyvenv.cfg", "deep/my venv/pyvenv.cfg", "deep/my venv/b", "deep/c.py",
                             ".pytest_cache/d", ".ruff_cache/d", ".mypy_cache/d", ".tox/d"})
        scene.put(file, "x");
    const auto scan = whole(scan_tree(scene.workspace));
    CHECK(scan.files.contains("deep/c.py"));
    CHECK(scan.files.contains("hello.txt"));
    CHECK(scan.files.size() == 3);
    scene.put("pyvenv.cfg", "x");  // the workspace itself is one
    CHECK(whole(scan_tree(scene.workspace)).files.contains("hello.txt"));
}
