#include "posix/unique_fd.hpp"
#include "snapshots/snapshot_stopped.hpp"
#include "test/cluster/snapshots/snapshot_case.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

using namespace cmcp;
using namespace cmcp::snapshots;
using namespace cmcp::test;
namespace fs = std::filesystem;

namespace {

struct stat look_at(const fs::path& file)
{
    struct stat status {};
    REQUIRE(::lstat(file.c_str(), &status) == 0);
    return status;
}

void make_holes(const fs::path& file)
{
    const unique_fd to(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::pwrite(to.get(), "head", 4, 0) == 4);
    REQUIRE(::pwrite(to.get(), "middle", 6, 5 << 20) == 6);
    REQUIRE(::ftruncate(to.get(), 20 << 20) == 0);
}

const std::string odd_names[] = {
    "blank name", "-rf",         "new\nline", "quote'\"", "\xff\xfe invalid",   "\xc3\xa4\xf0\x9f\x90\x8d", "=equals",
    "%41",        "back\\slash", " ",         "...",      std::string(255, 'n')};

void set_time(const fs::path& path)
{
    const timespec times[2]{{1, 2}, {1'234'567'890, 123'456'789}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

}  // namespace

TEST_CASE("a folder comes back from its chunks with names, modes, times, links, holes and attributes")
{
    snapshot_case sandbox;
    const auto from = sandbox.from / "workspace", to = sandbox.to / "workspace";
    fs::create_directories(from / "a/b");
    fs::create_directory(from / "empty folder");
    fs::create_directories(sandbox.from / "snapshots/snp_one");
    write_file(sandbox.from / "snapshots/snp_one/kept", "kept");
    for (const auto& name : odd_names) write_file(from / "a" / name, name + " content");
    const auto large = noise(9'000'003, 1);
    write_file(from / "large", large);
    write_file(from / "empty", "");
    make_holes(from / "sparse");
    fs::create_hard_link(from / "large", from / "a/b/large too");
    fs::create_symlink("/usr/bin/python3", from / "python");
    fs::create_symlink("../\xff" + std::string(200, 't'), from / "a/b/long");
    REQUIRE(::mkfifo((from / "pipe").c_str(), 0600) == 0);
    write_file(from / "script", "#!");
    ::chmod((from / "script").c_str(), 0751);
    ::chmod((from / "a/b").c_str(), 0550);
    ::chmod(sandbox.from.c_str(), 0710);
    const bool has_attributes = ::setxattr((from / "script").c_str(), "user.note", "a\0b\nc", 5, 0) == 0;
    for (const char* path : {"script", "python", "a"}) set_time(from / path);
    set_time(sandbox.from);

    const auto manifest = sandbox.manifest();
    CHECK(manifest.chunks.size() > 4);
    const auto restored = sandbox.read(manifest);

    CHECK(restored.lost_attributes == false);
    CHECK(text_in(sandbox.to / "snapshots/snp_one/kept") == "kept");
    for (const auto& name : odd_names) CHECK(text_in(to / "a" / name) == name + " content");
    CHECK(text_in(to / "large") == large);
    CHECK(text_in(to / "empty").empty());
    CHECK(fs::is_empty(to / "empty folder"));
    CHECK(text_in(to / "sparse") == text_in(from / "sparse"));
    CHECK(look_at(to / "sparse").st_blocks <= 64);
    CHECK(fs::equivalent(to / "large", to / "a/b/large too"));
    CHECK(fs::read_symlink(to / "python") == "/usr/bin/python3");
    CHECK(fs::read_symlink(to / "a/b/long") == fs::read_symlink(from / "a/b/long"));
    CHECK_FALSE(fs::exists(fs::symlink_status(to / "pipe")));
    CHECK((look_at(to / "script").st_mode & 07777) == 0751);
    CHECK((look_at(to / "a/b").st_mode & 07777) == 0550);
    CHECK((look_at(sandbox.to).st_mode & 07777) == 0710);
    for (const auto& path : {to / "script", to / "python", to / "a", sandbox.to}) {
        CHECK(look_at(path).st_mtim.tv_sec == 1'234'567'890);
        CHECK(look_at(path).st_mtim.tv_nsec == 123'456'789);
    }
    char value[8]{};
    CHECK(::getxattr((to / "script").c_str(), "user.note", value, sizeof value) == (has_attributes ? 5 : -1));
    for (const auto& path : {from / "a/b", to / "a/b"}) ::chmod(path.c_str(), 0700);
}

TEST_CASE("what is left out of a snapshot is named by its path in the folder, and is told")
{
    snapshot_case sandbox;
    fs::create_directories(sandbox.from / "workspace/cache");
    write_file(sandbox.from / "workspace/cache/page", "page");
    write_file(sandbox.from / "workspace/file", "file");
    REQUIRE(::mkfifo((sandbox.from / "workspace/pipe").c_str(), 0600) == 0);
    auto order = sandbox.order();
    order.leaves_out = [](const std::string& path) { return path == "workspace/cache"; };
    const auto written = write_snapshot(order, sandbox.sealer);
    REQUIRE(written.left_out == 1);
    CHECK_THAT(written.problems[0], Catch::Matchers::Contains("pipe"));
    auto manifest = sandbox.manifest();
    manifest.chunks = written.chunks;
    manifest.bytes = written.bytes;
    sandbox.read(manifest);
    CHECK(text_in(sandbox.to / "workspace/file") == "file");
    CHECK_FALSE(fs::exists(sandbox.to / "workspace/cache"));
}

TEST_CASE("files of chunks are the owner's alone, have the names of the list and nothing beside them")
{
    snapshot_case sandbox;
    write_file(sandbox.from / "zeros", std::string(12 << 20, '\0'));
    write_file(sandbox.from / "noise", noise(3 << 20, 1));
    const auto written = sandbox.write();
    std::uint64_t bytes = 0;
    std::size_t count = 0;
    for (const auto& each : fs::directory_iterator(sandbox.store)) {
        CHECK(sandbox.known.contains(each.path().filename().string()));
        CHECK((look_at(each.path()).st_mode & 07777) == 0600);
        bytes += each.file_size();
        ++count;
    }
    CHECK(count == written.new_chunks);
    CHECK(bytes == written.new_bytes);
    CHECK(written.new_chunks < written.chunks.size());  // zeros are kept once
    CHECK(written.bytes > 15u << 20);
}

TEST_CASE("a snapshot that has more new bytes than it may have ends")
{
    snapshot_case sandbox;
    write_file(sandbox.from / "file", noise(8 << 20, 1));
    auto order = sandbox.order();
    order.most_bytes = 6 << 20;
    CHECK_THROWS_AS(write_snapshot(order, sandbox.sealer), snapshot_too_large);
    std::uint64_t bytes = 0;
    for (const auto& each : fs::directory_iterator(sandbox.store)) bytes += each.file_size();
    CHECK(bytes <= order.most_bytes);
    sandbox.write();
    order.known = sandbox.known;
    order.most_bytes = 0;
    CHECK(write_snapshot(order, sandbox.sealer).new_bytes == 0);
}

TEST_CASE("a snapshot stops between chunks")
{
    snapshot_case sandbox;
    write_file(sandbox.from / "file", noise(8 << 20, 1));
    std::stop_source stop;
    auto order = sandbox.order();
    order.stop = stop.get_token();
    const auto manifest = sandbox.manifest();
    stop.request_stop();
    CHECK_THROWS_AS(write_snapshot(order, sandbox.sealer), snapshot_stopped);
    std::stop_source later;
    std::size_t calls = 0;
    const auto chunks = [&, from = chunks_in(sandbox.store)](const std::string& id) {
        if (++calls == 3) later.request_stop();
        return from(id);
    };
    CHECK_THROWS_AS(read_snapshot(manifest, sandbox.sealer, chunks, sandbox.to, later.get_token()), snapshot_stopped);
    CHECK(calls == 3);
    CHECK(fs::is_empty(sandbox.to));
}

TEST_CASE("a folder that cannot be read or written to is an error")
{
    snapshot_case sandbox;
    write_file(sandbox.from / "file", "text");
    auto order = sandbox.order();
    order.folder = sandbox.folder.path / "nowhere";
    CHECK_THROWS_AS(write_snapshot(order, sandbox.sealer), std::runtime_error);
    order = sandbox.order();
    order.into = sandbox.folder.path / "nowhere";
    CHECK_THROWS_AS(write_snapshot(order, sandbox.sealer), std::runtime_error);
}
