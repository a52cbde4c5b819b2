#include "test/execution/files/file_support.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <csignal>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("file writing makes the file, its folders and modes that are no wider than needed")
{
    file_scene scene;
    scene.write("deep/er/new.txt", "content");
    CHECK(scene.get("deep/er/new.txt") == "content");
    CHECK(scene.mode("deep/er/new.txt") == 0644);
    CHECK((scene.mode("deep") & 07022) == 0);
    scene.write("/hello.txt", "again");
    CHECK(scene.get("hello.txt") == "again");
    scene.write("/sub/x/y.txt", "below a folder that is there");
    CHECK(scene.count_in("sub/x") == 1);
    scene.write("empty.txt", "");
    CHECK(fs::file_size(scene.workspace / "empty.txt") == 0);
}

TEST_CASE("file writing keeps the mode of the file it replaces, without setuid")
{
    file_scene scene;
    REQUIRE(::chmod((scene.workspace / "hello.txt").c_str(), 04750) == 0);
    scene.write("hello.txt", "new");
    CHECK(scene.mode("hello.txt") == 0750);
}

TEST_CASE("file writing gives the file to the owner of the workspace", "[root]")
{
    if (::geteuid() != 0) return;
    file_scene scene;
    REQUIRE(::chown(scene.workspace.c_str(), 4321, 4322) == 0);
    scene.write("a/b.txt", "x");
    for (const char* name : {"a", "a/b.txt"}) {
        struct stat status {};
        REQUIRE(::lstat((scene.workspace / name).c_str(), &status) == 0);
        CHECK(status.st_uid == 4321);
        CHECK(status.st_gid == 4322);
    }
}

TEST_CASE("file writing never reaches anything outside the root")
{
    file_scene scene;
    scene.link(scene.base / "outside/secret.txt", "link_out");
    scene.link(scene.base / "outside", "dirlink");
    scene.link(scene.base / "outside/newfile", "dangling");
    const std::string base = scene.base.string();
    for (const std::string& path :
         {std::string("../outside/new.txt"), base + "/workspace-evil/new.txt", std::string("link_out"),
          std::string("dirlink/new.txt"), std::string("dangling"), std::string("/proc/self/oom_score_adj"),
          std::string("/dev/shm/probe_file"), std::string("."), std::string("/"), std::string(".."), std::string("sub"),
          std::string("sub/.."), std::string("newdir/"), std::string("hello.txt/x.txt"),
          std::string("nowhere/../../x.txt"), std::string("x\0y", 3)}) {
        INFO(path);
        CHECK(scene.write_refusal(path) != "");
    }
    CHECK(scene.outside_is_untouched());
    CHECK_FALSE(fs::exists(scene.workspace / "dev"));
    CHECK_FALSE(fs::exists(scene.workspace / "nowhere"));
}

TEST_CASE("file writing replaces a link that stays inside and leaves its target alone")
{
    file_scene scene;
    scene.link("hello.txt", "link_in");
    scene.write("link_in", "new");
    CHECK(scene.get("hello.txt") == "hello\n");
    CHECK(fs::is_regular_file(fs::symlink_status(scene.workspace / "link_in")));
    CHECK(scene.get("link_in") == "new");
}

TEST_CASE("file writing leaves the other names of a hard link alone")
{
    file_scene scene;
    fs::create_hard_link(scene.base / "outside/secret.txt", scene.workspace / "hard_out");
    scene.write("hard_out", "h3");
    CHECK(scene.get("hard_out") == "h3");
    CHECK(scene.outside_is_untouched());
}

TEST_CASE("file writing refuses a FIFO and a read-only file")
{
    file_scene scene;
    REQUIRE(::mkfifo((scene.workspace / "fifo").c_str(), 0666) == 0);
    CHECK(contains(scene.write_refusal("fifo"), "regular file"));
    scene.put("readonly.txt", "ro\n");
    REQUIRE(::chmod((scene.workspace / "readonly.txt").c_str(), 0444) == 0);
    CHECK(contains(scene.write_refusal("readonly.txt"), "read-only"));
    CHECK(scene.get("readonly.txt") == "ro\n");
}

TEST_CASE("file writing decodes base64 and writes nothing when it is wrong")
{
    file_scene scene;
    scene.write("ok.bin", "//79YWJj", "base64");
    CHECK(scene.get("ok.bin") ==
          "\xff\xfe\xfd"
          "abc");
    for (const char* content : {"!!!notbase64!!!", "YWJjZ", "YQ==YQ==", "====", "YW.Jj"}) {
        INFO(content);
        CHECK(contains(file_scene::refusal([&] { scene.write("bad.bin", content, "base64"); }), "base64"));
    }
    CHECK_FALSE(fs::exists(scene.workspace / "bad.bin"));
    CHECK(scene.write_refusal("x.txt", "\xed\xa0\x80") != "");
    CHECK_FALSE(fs::exists(scene.workspace / "x.txt"));
}

TEST_CASE("file writing refuses more than the size limit, measured in bytes of the file")
{
    file_scene scene;
    scene.policy = file_policy(10, {"*"});
    CHECK(scene.write_refusal("ten.txt", "0123456789") == "");
    CHECK(contains(scene.write_refusal("more.txt", "0123456789a"), "FILE_MAX_SIZE_MB"));
    CHECK_FALSE(fs::exists(scene.workspace / "more.txt"));
}

TEST_CASE("file writing leaves the old file and nothing else when writing fails half-way")
{
    file_scene scene;
    const auto before = scene.count_in();
    auto* old = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit_before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit_before) == 0);
    rlimit small{4096, limit_before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const std::string sentence = scene.write_refusal("hello.txt", std::string(100'000, 'x'));
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit_before) == 0);
    std::signal(SIGXFSZ, old);
    CHECK(sentence != "");
    CHECK(scene.get("hello.txt") == "hello\n");
    CHECK(scene.count_in() == before);
}

TEST_CASE("file writing leaves no temporary file behind")
{
    file_scene scene;
    const auto before = scene.count_in();
    for (int i = 0; i < 20; ++i) scene.write("hello.txt", std::string(10'000, 'x'));
    CHECK(scene.count_in() == before);
}

TEST_CASE("file deletion removes files and links, never folders, the root or what links point to")
{
    file_scene scene;
    fs::create_directory(scene.workspace / "holder");
    scene.link(scene.base / "outside", "holder/inner");
    scene.link(scene.base / "outside/secret.txt", "link_del");
    scene.link(scene.base / "outside", "dirlink");
    for (const char* path : {"../outside/secret.txt", ".", "/", "..", "sub/..", "dirlink/", "holder", "sub", "*",
                             "dirlink/secret.txt", "missing.txt", "hello.txt/"}) {
        INFO(path);
        CHECK(file_scene::refusal([&] { scene.remove(path); }) != "");
    }
    scene.remove("link_del");
    scene.remove("dirlink");
    scene.remove("hello.txt");
    CHECK_FALSE(fs::exists(scene.workspace / "hello.txt"));
    CHECK_FALSE(fs::is_symlink(scene.workspace / "link_del"));
    CHECK(scene.outside_is_untouched());
    CHECK(fs::exists(scene.workspace / "holder"));
    CHECK_THROWS_AS(scene.remove("hello.txt"), file_missing);
}

TEST_CASE("file moves rename files, links and folders and make missing folders")
{
    file_scene scene;
    scene.link(scene.base / "outside/secret.txt", "link_mv");
    scene.move("hello.txt", "new/place/h.txt");
    CHECK(scene.get("new/place/h.txt") == "hello\n");
    scene.move("link_mv", "moved_link");
    CHECK(fs::is_symlink(scene.workspace / "moved_link"));
    scene.move("sub/", "sub2/");
    CHECK(scene.get("sub2/inner.txt") == "inner\n");
    CHECK(scene.outside_is_untouched());
}

TEST_CASE("file moves are refused where they would leave the root or replace something")
{
    file_scene scene;
    scene.put("keep.txt", "keep");
    scene.link(scene.base / "outside/secret.txt", "link_out");
    scene.link(scene.base / "outside", "dirlink");
    const auto refusal = [&](const std::string& from, const std::string& to) {
        return file_scene::refusal([&] { scene.move(from, to); });
    };
    CHECK(refusal("../outside/secret.txt", "got.txt") != "");
    CHECK(refusal("dirlink/secret.txt", "got.txt") != "");
    CHECK(refusal("hello.txt", "../outside/x.txt") != "");
    CHECK(refusal("hello.txt", "dirlink/x.txt") != "");
    CHECK(refusal("hello.txt", "/tmp/x/y.txt") != "");
    CHECK(refusal(".", "elsewhere") != "");
    CHECK(refusal("hello.txt", std::string("x\0y", 3)).starts_with("destination "));
    CHECK(contains(refusal("hello.txt", "keep.txt"), "exists"));
    CHECK(contains(refusal("hello.txt", "link_out"), "exists"));
    CHECK(contains(refusal("hello.txt", "sub"), "exists"));
    CHECK(contains(refusal("sub", "sub/below"), "itself"));
    CHECK(refusal("missing.txt", "x.txt").starts_with("source "));
    CHECK(refusal("hello.txt", "x.txt/") != "");
    CHECK(scene.get("hello.txt") == "hello\n");
    CHECK(scene.get("keep.txt") == "keep");
    CHECK(scene.outside_is_untouched());
}

TEST_CASE("file moves replace a file, but never a folder, when they are told to overwrite")
{
    file_scene scene;
    scene.put("keep.txt", "keep");
    scene.link(scene.base / "outside/secret.txt", "link_out");
    scene.move("hello.txt", "keep.txt", true);
    CHECK(scene.get("keep.txt") == "hello\n");
    fs::create_directory(scene.workspace / "empty");
    CHECK(file_scene::refusal([&] { scene.move("keep.txt", "empty", true); }) != "");
    CHECK(file_scene::refusal([&] { scene.move("sub", "empty", true); }) != "");
    CHECK(file_scene::refusal([&] { scene.move("keep.txt", "link_out", true); }) != "");
    CHECK(scene.outside_is_untouched());
    REQUIRE(::chmod((scene.workspace / "sub/inner.txt").c_str(), 0444) == 0);
    CHECK(contains(file_scene::refusal([&] { scene.move("keep.txt", "sub/inner.txt", true); }), "read-only"));
}

TEST_CASE("file moves check the extensions of both ends of a file and of none of a folder")
{
    file_scene scene;
    scene.policy = file_policy(1 << 20, {"txt"});
    scene.put("run.sh", "x");
    CHECK(file_scene::refusal([&] { scene.move("run.sh", "run.txt"); }).starts_with("source"));
    CHECK(file_scene::refusal([&] { scene.move("hello.txt", "hello.sh"); }).starts_with("destination"));
    scene.move("sub", "sub.d");
    CHECK(scene.get("sub.d/inner.txt") == "inner\n");
}
