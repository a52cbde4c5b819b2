#include "files/incoming_file.hpp"
#include "files/owner_rights.hpp"
#include "test/execution/files/file_support.hpp"

#include <fcntl.h>
#include <sys/fsuid.h>

#include <thread>

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr uid_t stranger = 12345;

bool runs_as_root() { return ::geteuid() == 0; }

/// A workspace of `owner` with a file and a folder of somebody else in it.
struct shared_scene : file_scene {
    explicit shared_scene(uid_t owner)
    {
        fs::permissions(base, fs::perms(0755));
        for (const char* own : {".", "sub", "hello.txt", "sub/inner.txt"}) give(own, owner);
        put("secret.txt", "CANARY");
        fs::create_directory(workspace / "locked");
        put("locked/inside.txt", "CANARY");
        lock("secret.txt", 0);
        lock("locked/inside.txt", 0600);
        lock("locked", 0700);
    }

    void give(const std::string& name, uid_t owner) const
    {
        REQUIRE(::chown((workspace / name).c_str(), owner, owner) == 0);
    }
    void lock(const std::string& name, mode_t mode) const
    {
        give(name, stranger);
        REQUIRE(::chmod((workspace / name).c_str(), mode) == 0);
    }
    std::string list_refusal(const std::string& path) const
    {
        return refusal([&] {
            file_list_request what;
            what.path = path;
            list(what);
        });
    }
    std::string move_refusal(const std::string& from, const std::string& to) const
    {
        return refusal([&] { move(from, to, true); });
    }
    std::string remove_refusal(const std::string& path) const
    {
        return refusal([&] { remove(path); });
    }
};

constexpr std::string_view no_right = "do not allow it";

}  // namespace

TEST_CASE("file tools under root are refused the files of somebody else, as the workspace's owner is", "[root]")
{
    if (!runs_as_root()) return;
    const uid_t owner = GENERATE(uid_t{0}, uid_t{4321});
    const shared_scene scene(owner);
    CHECK(contains(scene.read_refusal("secret.txt"), no_right));
    CHECK(contains(scene.read_refusal("secret.txt"), "chmod"));
    CHECK(contains(scene.read_refusal("secret.txt", "base64"), no_right));
    CHECK(contains(scene.write_refusal("secret.txt"), "read-only"));
    CHECK(contains(scene.move_refusal("hello.txt", "secret.txt"), "read-only"));
    CHECK(scene.get("secret.txt") == "CANARY");
    fs::create_hard_link(scene.workspace / "secret.txt", scene.workspace / "sub/other name");
    CHECK(contains(scene.read_refusal("sub/other name"), no_right));

    CHECK(contains(scene.list_refusal("locked"), no_right));
    for (const char* inside : {"locked/inside.txt", "locked/none.txt"}) {
        CHECK(contains(scene.read_refusal(inside), no_right));
        CHECK(contains(scene.write_refusal(inside), no_right));
        CHECK(contains(scene.remove_refusal(inside), no_right));
        CHECK(contains(scene.move_refusal(inside, "taken.txt"), no_right));
        CHECK(contains(scene.move_refusal("hello.txt", inside), no_right));
    }
    CHECK(scene.get("locked/inside.txt") == "CANARY");
}

TEST_CASE("file lists under root leave out what is in a folder that its owner closed to others", "[root]")
{
    if (!runs_as_root()) return;
    const shared_scene scene(GENERATE(uid_t{0}, uid_t{4321}));
    file_list_request everything;
    everything.recursive = true;
    std::string names;
    for (const auto& each : scene.list(everything).entries) names += each.path + " ";
    CHECK(names == "hello.txt locked secret.txt sub sub/inner.txt ");
}

TEST_CASE("an owner moves and deletes somebody else's file in its own folder, also under root", "[root]")
{
    if (!runs_as_root()) return;
    const shared_scene scene(GENERATE(uid_t{0}, uid_t{4321}));
    scene.move("secret.txt", "sub/secret.txt");
    scene.remove("sub/secret.txt");
    CHECK(scene.count_in("sub") == 1);
    CHECK(contains(scene.move_refusal("locked", "sub/locked"), no_right));
}

TEST_CASE("a file that takes several threads to write belongs to the workspace's owner", "[root]")
{
    if (!runs_as_root()) return;
    const shared_scene scene(4321);
    std::unique_ptr<incoming_file> file;
    std::thread([&] { file = std::make_unique<incoming_file>(scene.root(), file_path("path", "a/new.txt")); }).join();
    std::thread([&] {
        file->append("x");
        file->publish();
    }).join();
    struct stat status {};
    REQUIRE(::lstat((scene.workspace / "a/new.txt").c_str(), &status) == 0);
    CHECK(status.st_uid == 4321);
    CHECK(status.st_gid == 4321);
}

TEST_CASE("a thread has its own rights again after those of an owner, also of one owner within another", "[root]")
{
    if (!runs_as_root()) return;
    const shared_scene scene(4321);
    const auto readable = [&] {
        return unique_fd(::open((scene.workspace / "secret.txt").c_str(), O_RDONLY | O_CLOEXEC)).get() >= 0;
    };
    {
        const file_root owners = scene.root();
        CHECK_FALSE(readable());
        {
            const file_root outer(scene.base);
            CHECK_FALSE(readable());
            CHECK(::setfsuid(static_cast<uid_t>(-1)) == 0);
        }
        CHECK(::setfsuid(static_cast<uid_t>(-1)) == 4321);
        CHECK_FALSE(readable());
    }
    CHECK(readable());
    CHECK(::setfsuid(static_cast<uid_t>(-1)) == 0);
}
