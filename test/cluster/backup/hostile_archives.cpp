#include "backup/bad_archive.hpp"
#include "backup/tar_format.hpp"
#include "test/cluster/backup/archive_case.hpp"
#include "test/support/catch.hpp"

#include <sys/stat.h>

using namespace cmcp;
using namespace cmcp::test;
using backup::archive_writer;
using backup::entry;
namespace fs = std::filesystem;

namespace {

using kind = entry::kind;

/// An archive that must be refused, and a part of the sentence that says why.
struct hostile {
    const char* name;
    std::string archive;
    const char* says;
};

std::string of_entries(std::initializer_list<entry> entries)
{
    return archive_with([&](archive_writer& to) {
        for (const auto& each : entries) add(to, each, "evil");
    });
}

std::string in_workspace(std::initializer_list<entry> entries)
{
    return archive_with([&](archive_writer& to) {
        add_folders(to, {"root/workspace", "root/callers", "root/callers/ann", "root/callers/ann/workspace"});
        for (const auto& each : entries) add(to, each, "evil");
    });
}

// A header that the writer would not write, made good again.
std::string with_header(const std::string& archive, const std::string& path,
                        const std::function<void(std::string&)>& change)
{
    std::string changed = archive;
    const auto at = changed.find(path + '\0');
    std::string block = changed.substr(at, backup::tar_block);
    change(block);
    block.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const unsigned char c : block) sum += c;
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", sum);
    block.replace(148, 8, std::string(digits, 6) + '\0' + ' ');
    return changed.replace(at, backup::tar_block, block);
}

std::string with_type(char type)
{
    return with_header(of_entries({entry_at("root/file")}), "root/file",
                       [type](std::string& block) { block[156] = type; });
}

std::string damaged(std::size_t at)
{
    std::string archive = of_entries({entry_at("root/file")});
    archive[at] ^= 1;
    return archive;
}

std::string cut(std::size_t length)
{
    const std::string archive = of_entries({entry_at("root/file")});
    return archive.substr(0, length < archive.size() ? length : archive.size() - (length - archive.size()));
}

entry sparse_file(std::vector<std::pair<std::uint64_t, std::uint64_t>> data, std::uint64_t size)
{
    entry of = entry_at("root/sparse");
    of.sparse = true;
    of.size = size;
    of.data = std::move(data);
    return of;
}

entry with_attribute(std::string name)
{
    entry of = entry_at("root/file");
    of.attributes[std::move(name)] = "x";
    return of;
}

std::vector<hostile> hostile_archives()
{
    const std::string deep(70'000, 'x');
    return {
        {"a path with ..", of_entries({entry_at("root/../escaped")}), "no usable name"},
        {"a path that begins with ..", of_entries({entry_at("../escaped")}), "no backup has"},
        {"an absolute path", of_entries({entry_at("/tmp/cmcp-escaped")}), "no backup has"},
        {"an absolute path behind the root", of_entries({entry_at("root//tmp/cmcp-escaped")}), "no usable name"},
        {"a path with .", of_entries({entry_at("root/./file")}), "no usable name"},
        {"a path that ends with a slash", of_entries({entry_at("root/file/")}), "no usable name"},
        {"a path with a zero byte", of_entries({entry_at(std::string("root/a\0b", 8))}), "no usable name"},
        {"a component that is too long", of_entries({entry_at("root/" + std::string(300, 'n'))}), "no usable name"},
        {"a path that is too long", of_entries({entry_at("root/" + deep)}), "no usable name"},
        {"the root as a link", of_entries({entry_at("root", kind::symbolic_link, "/tmp")}), "no backup has"},
        {"an entry of another name", of_entries({entry_at("etc/passwd")}), "no backup has"},
        {"a link in place of a file of the server",
         of_entries({entry_at("root/identity.db", kind::symbolic_link, "/etc/passwd")}), "a link outside"},
        {"a link in place of a folder of the server",
         of_entries({entry_at("root/callers", kind::symbolic_link, "/tmp")}), "a link outside"},
        {"a link in place of a workspace", archive_with([](archive_writer& to) {
             add_folders(to, {"root/callers", "root/callers/ann"});
             add(to, entry_at("root/callers/ann/workspace", kind::symbolic_link, "/tmp"));
         }),
         "a link outside"},
        {"a file through an absolute link",
         in_workspace({entry_at("root/workspace/out", kind::symbolic_link, "/tmp"),
                       entry_at("root/workspace/out/cmcp-escaped")}),
         "not in a folder of the archive"},
        {"a file through a relative link",
         in_workspace({entry_at("root/workspace/out", kind::symbolic_link, "../.."),
                       entry_at("root/workspace/out/cmcp-escaped")}),
         "not in a folder of the archive"},
        {"a folder through a link",
         in_workspace({entry_at("root/workspace/out", kind::symbolic_link, "/tmp"),
                       entry_at("root/workspace/out/cmcp-escaped", kind::folder)}),
         "not in a folder of the archive"},
        {"a file in place of a link",
         in_workspace({entry_at("root/workspace/out", kind::symbolic_link, "/tmp/cmcp-escaped"),
                       entry_at("root/workspace/out")}),
         "stands in it twice"},
        {"a link without a target", in_workspace({entry_at("root/workspace/out", kind::symbolic_link, "")}),
         "to nowhere"},
        {"a hard link to a file of the machine",
         in_workspace({entry_at("root/workspace/in", kind::hard_link, "/etc/passwd")}), "no usable name"},
        {"a hard link upwards",
         in_workspace({entry_at("root/workspace/in", kind::hard_link, "root/workspace/../auth-token")}),
         "no usable name"},
        {"a hard link to another caller's file",
         in_workspace({entry_at("root/callers/ann/workspace/hers"),
                       entry_at("root/workspace/mine", kind::hard_link, "root/callers/ann/workspace/hers")}),
         "leaves its folder"},
        {"a hard link to a file of the server",
         in_workspace(
             {entry_at("root/auth-token"), entry_at("root/workspace/mine", kind::hard_link, "root/auth-token")}),
         "leaves its folder"},
        {"a hard link to a link",
         in_workspace({entry_at("root/workspace/out", kind::symbolic_link, "/etc/passwd"),
                       entry_at("root/workspace/in", kind::hard_link, "root/workspace/out")}),
         "no file"},
        {"a hard link to nothing",
         in_workspace({entry_at("root/workspace/in", kind::hard_link, "root/workspace/none")}),
         "not in a folder of the archive"},
        {"a file twice", of_entries({entry_at("root/file"), entry_at("root/file")}), "stands in it twice"},
        {"a file in place of a folder", in_workspace({entry_at("root/workspace")}), "stands in it twice"},
        {"a file below a file", of_entries({entry_at("root/file"), entry_at("root/file/below")}), "not in a folder"},
        {"a file without its folder", of_entries({entry_at("root/none/file")}), "not in a folder"},
        {"settings outside of their folder", of_entries({entry_at("container-mcp-backup/settings/../../escaped")}),
         "no usable name"},
        {"settings in a folder", of_entries({entry_at("container-mcp-backup/settings/a/b")}), "that are no file"},
        {"settings that are a link",
         of_entries({entry_at("container-mcp-backup/settings/custom.env", kind::symbolic_link, "/etc/passwd")}),
         "that are no file"},
        {"settings twice",
         of_entries({entry_at("container-mcp-backup/settings/a"), entry_at("container-mcp-backup/settings/a")}),
         "of one name twice"},
        {"a capability", of_entries({with_attribute("security.capability")}), "extended attribute"},
        {"a trusted attribute", of_entries({with_attribute("trusted.overlay.opaque")}), "extended attribute"},
        {"a character device", with_type('3'), "a kind that no backup has"},
        {"a block device", with_type('4'), "a kind that no backup has"},
        {"a FIFO", with_type('6'), "a kind that no backup has"},
        {"a header for all entries", with_type('g'), "a kind that no backup has"},
        {"a long name of GNU tar", with_type('L'), "a kind that no backup has"},
        {"a folder with content", with_type('5'), "with content"},
        {"a link with content", with_type('2'), "with content"},
        {"a header of records alone", with_type('x'), "damaged"},
        {"a size that is no number",
         with_header(of_entries({entry_at("root/file")}), "root/file",
                     [](std::string& block) { block.replace(124, 11, "77777777zzz"); }),
         "a number that is none"},
        {"a size beyond the archive",
         with_header(of_entries({entry_at("root/file")}), "root/file",
                     [](std::string& block) { block.replace(124, 11, "77777777777"); }),
         "ends in the middle"},
        {"ranges that overlap", of_entries({sparse_file({{0, 4}, {2, 4}}, 100)}), "sparse"},
        {"a range behind the end", of_entries({sparse_file({{0, 4}, {98, 4}}, 100)}), "sparse"},
        {"a range that wraps around", of_entries({sparse_file({{~std::uint64_t{0} - 1, 4}}, 100)}), "sparse"},
        {"another digest", damaged(1024 + 512), "digest"},
        {"a damaged header", damaged(1024 + 100), "checksum"},
        {"no end", cut(2048), "ends in the middle"},
        {"half of a header", cut(1100), "ends in the middle"},
        {"bytes behind the end", of_entries({entry_at("root/file")}) + "more", "behind its end"},
        {"a newer form", archive_with([](archive_writer&) {}, R"({"format":2,"version":"9"})"), "newer form"},
        {"no form", archive_with([](archive_writer&) {}, "{}"), "no backup of Container-MCP"},
        {"nothing", "", "ends in the middle"},
        {"something else", std::string(4096, 'x'), "damaged"},
        {"zeros", std::string(4096, '\0'), "not written whole"},
    };
}

std::vector<std::string> all_below(const fs::path& folder)
{
    std::vector<std::string> all;
    for (const auto& each : fs::recursive_directory_iterator(folder)) all.push_back(each.path().string());
    return all;
}

}  // namespace

TEST_CASE("a hostile archive is refused with a sentence, and leaves nothing anywhere")
{
    const fs::path outside = "/tmp/cmcp-escaped";
    for (const auto& each : hostile_archives()) {
        INFO(each.name);
        const temporary_folder folder;
        std::string refusal;
        try {
            restore_into(folder.path / "parent/root", each.archive);
        } catch (const backup::bad_archive& reason) {
            refusal = reason.what();
        }
        CHECK_THAT(refusal, Catch::Matchers::Contains(each.says));
        CHECK(all_below(folder.path) == std::vector<std::string>{(folder.path / "parent").string()});
        CHECK_FALSE(fs::exists(fs::symlink_status(outside)));
    }
}

TEST_CASE("a refused archive leaves what was there, also with force")
{
    for (const bool force : {false, true}) {
        const temporary_folder folder;
        std::ofstream(folder.path / "old") << "kept";
        CHECK_THROWS(restore_into(folder.path, of_entries({entry_at("root/../escaped")}), force));
        CHECK(text_in(folder.path / "old") == "kept");
        CHECK(all_below(folder.path).size() == 1);
    }
}

TEST_CASE("links of callers stay as they are, wherever they lead, and lend nothing")
{
    const temporary_folder folder;
    const auto root = folder.path / "root";
    restore_into(root, in_workspace({entry_at("root/workspace/python", kind::symbolic_link, "/usr/bin/python3"),
                                     entry_at("root/workspace/up", kind::symbolic_link, "../../../etc/passwd"),
                                     entry_at("root/workspace/one"),
                                     entry_at("root/workspace/two", kind::hard_link, "root/workspace/one")}));
    CHECK(fs::read_symlink(root / "workspace/python") == "/usr/bin/python3");
    CHECK(fs::read_symlink(root / "workspace/up") == "../../../etc/passwd");
    CHECK(fs::equivalent(root / "workspace/one", root / "workspace/two"));
}

TEST_CASE("modes give callers' programs no bits that runs never have, and the server's files to nobody else")
{
    const temporary_folder folder;
    const auto root = folder.path / "root";
    entry program = entry_at("root/workspace/program"), token = entry_at("root/auth-token"),
          closed = entry_at("root/workspace/closed", kind::folder);
    const std::string image = "root/images/" + std::string(64, 'a');
    entry in_image = entry_at(image + "/root/sh"), tmp_of_image = entry_at(image + "/root/tmp", kind::folder);
    program.mode = 06755;
    in_image.mode = 07755;
    tmp_of_image.mode = 03777;
    token.mode = 0666;
    closed.mode = 0;
    restore_into(root, in_workspace({program, closed, entry_at("root/workspace/closed/inner"), token,
                                     entry_at("root/images", kind::folder), entry_at(image, kind::folder),
                                     entry_at(image + "/root", kind::folder), in_image, tmp_of_image}));
    const auto mode_of = [](const fs::path& file) {
        struct stat status {};
        ::lstat(file.c_str(), &status);
        return status.st_mode & 07777;
    };
    CHECK(mode_of(root / "workspace/program") == 0755);
    CHECK(mode_of(root / "auth-token") == 0600);
    CHECK(mode_of(folder.path / image / "root/sh") == 0755);
    CHECK(mode_of(folder.path / image / "root/tmp") == 0777);
    CHECK(mode_of(root / "workspace/closed") == 0);
    CHECK(mode_of(root) == 0700);
    fs::permissions(root / "workspace/closed", fs::perms::owner_all);
    CHECK(text_in(root / "workspace/closed/inner") == "evil");
}
