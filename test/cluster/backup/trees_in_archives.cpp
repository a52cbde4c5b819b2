#include "backup/tree_archiver.hpp"
#include "backup/zstd_streams.hpp"
#include "test/cluster/backup/archive_case.hpp"
#include "test/support/catch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

using namespace cmcp;
using namespace cmcp::test;
namespace fs = std::filesystem;

namespace {

void write_file(const fs::path& file, std::string_view text) { std::ofstream(file, std::ios::binary) << text; }

struct stat status_of(const fs::path& file)
{
    struct stat status {};
    REQUIRE(::lstat(file.c_str(), &status) == 0);
    return status;
}

std::string workspace_archive(const fs::path& folder)
{
    return archive_with([&](backup::archive_writer& to) {
        backup::tree_archiver trees(to);
        trees.add(folder, "root/workspace");
    });
}

void make_sparse(const fs::path& file)
{
    const unique_fd to(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::pwrite(to.get(), "head", 4, 0) == 4);
    REQUIRE(::pwrite(to.get(), "middle", 6, 5 << 20) == 6);
    REQUIRE(::ftruncate(to.get(), 20 << 20) == 0);
}

const std::string odd_names[] = {"blank name",
                                 "-rf",
                                 "new\nline",
                                 "tab\t",
                                 "quote'\"",
                                 "\xff\xfe invalid",
                                 "\xc3\xa4\xf0\x9f\x90\x8d",
                                 "=equals",
                                 "%41",
                                 "back\\slash",
                                 std::string(255, 'n'),
                                 " ",
                                 "..."};

int shell(const std::string& command) { return std::system(command.c_str()); }  // NOLINT(concurrency-mt-unsafe)

}  // namespace

TEST_CASE("a tree comes back byte for byte, with names, modes, times, links, holes and attributes")
{
    const temporary_folder folder;
    const auto from = folder.path / "from", root = folder.path / "root", to = root / "workspace";
    fs::create_directories(from / "a/b");
    for (const auto& name : odd_names) write_file(from / "a" / name, name + " content");
    std::string bytes(1'000'003, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7919 >> 5);
    write_file(from / "large", bytes);
    write_file(from / "empty", "");
    make_sparse(from / "sparse");
    fs::create_hard_link(from / "large", from / "a/b/large too");
    fs::create_symlink("/usr/bin/python3", from / "python");
    fs::create_symlink("../\xff" + std::string(200, 't'), from / "a/b/long");
    ::mkfifo((from / "pipe").c_str(), 0600);
    write_file(from / "script", "#!");
    ::chmod((from / "script").c_str(), 0751);
    ::chmod((from / "a/b").c_str(), 0550);
    const bool has_attributes = ::setxattr((from / "script").c_str(), "user.note", "a\0b\nc", 5, 0) == 0;
    const timespec times[2]{{1, 2}, {1'234'567'890, 123'456'789}};
    ::utimensat(AT_FDCWD, (from / "script").c_str(), times, 0);
    ::utimensat(AT_FDCWD, (from / "python").c_str(), times, AT_SYMLINK_NOFOLLOW);
    ::utimensat(AT_FDCWD, (from / "a").c_str(), times, 0);

    restore_into(root, workspace_archive(from));

    for (const auto& name : odd_names) CHECK(text_in(to / "a" / name) == name + " content");
    CHECK(text_in(to / "large") == bytes);
    CHECK(text_in(to / "empty").empty());
    CHECK(text_in(to / "sparse") == text_in(from / "sparse"));
    CHECK(status_of(to / "sparse").st_blocks <= 64);
    CHECK(fs::equivalent(to / "large", to / "a/b/large too"));
    CHECK(fs::read_symlink(to / "python") == "/usr/bin/python3");
    CHECK(fs::read_symlink(to / "a/b/long") == fs::read_symlink(from / "a/b/long"));
    CHECK_FALSE(fs::exists(fs::symlink_status(to / "pipe")));
    CHECK((status_of(to / "script").st_mode & 07777) == 0751);
    CHECK((status_of(to / "a/b").st_mode & 07777) == 0550);
    for (const char* path : {"script", "python", "a"}) {
        CHECK(status_of(to / path).st_mtim.tv_sec == 1'234'567'890);
        CHECK(status_of(to / path).st_mtim.tv_nsec == 123'456'789);
    }
    char value[8]{};
    CHECK(::getxattr((to / "script").c_str(), "user.note", value, sizeof value) == (has_attributes ? 5 : -1));
    ::chmod((from / "a/b").c_str(), 0700);
    ::chmod((to / "a/b").c_str(), 0700);
}

TEST_CASE("GNU tar and zstd read an archive, too")
{
    if (shell("command -v tar zstd > /dev/null") != 0) {
        WARN("not tested: there is no tar or zstd");
        return;
    }
    const temporary_folder folder;
    const auto from = folder.path / "from", out = folder.path / "out";
    fs::create_directories(from / "inner");
    fs::create_directory(out);
    for (const auto& name : odd_names) write_file(from / "inner" / name, name);
    make_sparse(from / "sparse");
    fs::create_hard_link(from / "sparse", from / "inner/again");
    fs::create_symlink("nowhere", from / "link");
    const auto packed = folder.path / "backup.tar.zst";
    {
        const unique_fd file(::open(packed.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        backup::zstd_sink sink(file.get());
        sink.put(workspace_archive(from));
        sink.finish();
    }
    REQUIRE(shell("zstd -dcq " + packed.string() + " | tar -x -C " + out.string()) == 0);
    CHECK(shell("diff -r --no-dereference " + from.string() + " " + (out / "root/workspace").string()) == 0);
    CHECK(fs::equivalent(out / "root/workspace/sparse", out / "root/workspace/inner/again"));
    CHECK(status_of(out / "root/workspace/sparse").st_blocks <= 64);
}

TEST_CASE("a tree of a thousand levels and a folder of many files come back")
{
    const temporary_folder folder;
    const auto from = folder.path / "from", root = folder.path / "root";
    fs::create_directory(from);
    unique_fd at(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int depth = 0; depth < 1000; ++depth) {
        ::mkdirat(at.get(), "a-longer-name", 0700);
        const unique_fd file(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        CHECK(::write(file.get(), "x", 1) == 1);
        at = unique_fd(::openat(at.get(), "a-longer-name", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    at.reset();
    fs::create_directory(from / "many");
    for (int i = 0; i < 2000; ++i) write_file(from / "many" / std::to_string(i), std::to_string(i));
    const auto done = restore_into(root, workspace_archive(from));
    CHECK(done.entries > 4000);
    at = unique_fd(::open((root / "workspace").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int depth = 0; depth < 1000 && at; ++depth) {
        REQUIRE(unique_fd(::openat(at.get(), "file", O_RDONLY | O_CLOEXEC)));
        at = unique_fd(::openat(at.get(), "a-longer-name", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    REQUIRE(at);
    CHECK(text_in(root / "workspace/many/1999") == "1999");
    shell("rm -rf " + folder.path.string() + "/*");
}

TEST_CASE("files that change while they are read have the size of their header")
{
    const temporary_folder folder;
    const auto from = folder.path / "from", root = folder.path / "root";
    fs::create_directory(from);
    write_file(from / "shrinks", std::string(4 << 20, 'x'));
    write_file(from / "stays", "same");
    const auto archive = archive_with([&](backup::archive_writer& to) {
        backup::tree_archiver trees(to);
        trees.on_progress([&] { ::truncate((from / "shrinks").c_str(), 1000); });
        trees.add(from, "root/workspace");
    });
    restore_into(root, archive);
    CHECK(fs::file_size(root / "workspace/shrinks") == 4u << 20);
    CHECK(text_in(root / "workspace/stays") == "same");
}

TEST_CASE("restoring with force moves aside what was there")
{
    const temporary_folder folder;
    write_file(folder.path / "old", "kept");
    const auto archive = archive_with([](backup::archive_writer& to) {
        add(to, entry_at("root/node"), "n1");
        add(to, entry_at("container-mcp-backup/settings/custom.env"), "A=1");
    });
    CHECK_THROWS_WITH(restore_into(folder.path, archive), Catch::Matchers::Contains("is not empty"));
    const auto done = restore_into(folder.path, archive, true);
    CHECK(text_in(done.former / "old") == "kept");
    CHECK(text_in(folder.path / "node") == "n1");
    CHECK(text_in(done.settings / "custom.env") == "A=1");
}

TEST_CASE("compressed bytes that are damaged or cut are refused")
{
    const temporary_folder folder;
    const auto file = folder.path / "backup";
    {
        const unique_fd to(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        backup::zstd_sink sink(to.get());
        sink.put(archive_with([](backup::archive_writer& into) {
            std::string noise(300'000, '\0');
            unsigned state = 1;
            for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
            add(into, entry_at("root/noise"), noise);
        }));
        sink.finish();
    }
    const auto restore_packed = [&](const fs::path& packed) {
        const temporary_folder into;
        const unique_fd from(::open(packed.c_str(), O_RDONLY | O_CLOEXEC));
        backup::zstd_source source(from.get());
        backup::archive_reader reader(source);
        backup::read_backup(reader, into.path / "root", false, {});
    };
    CHECK_NOTHROW(restore_packed(file));
    const std::string whole = text_in(file);
    for (const std::size_t at : {std::size_t{20}, whole.size() / 2, whole.size() - 3}) {
        std::string changed = whole;
        changed[at] ^= 1;
        write_file(folder.path / "changed", changed);
        CHECK_THROWS_AS(restore_packed(folder.path / "changed"), std::runtime_error);
        write_file(folder.path / "cut", whole.substr(0, at));
        CHECK_THROWS_AS(restore_packed(folder.path / "cut"), std::runtime_error);
    }
}
