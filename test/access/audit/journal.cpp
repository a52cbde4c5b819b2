// The files of an audit: their beginning, their change, and how they go on after a server that was killed.
#include "audit/audit_error.hpp"
#include "audit/signing_key.hpp"
#include "test/access/audit/audit_rig.hpp"
#include "text/encodings.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <csignal>

#include <map>

using namespace cmcp;
using namespace cmcp::test;
namespace fs = std::filesystem;

namespace {

// From here on files cannot grow above `size`, as on a full disk.
struct full_disk {
    explicit full_disk(rlim_t size)
    {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before);
        const rlimit now{size, before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    full_disk(const full_disk&) = delete;
    full_disk& operator=(const full_disk&) = delete;
    ~full_disk() { ::setrlimit(RLIMIT_FSIZE, &before); }
    rlimit before{};
};

mode_t mode_of(const fs::path& file)
{
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("an audit is of its owner alone, and each record follows from the one before")
{
    audit_rig audit;
    audit.live(3);
    CHECK(mode_of(audit.folder()) == 0700);
    CHECK(mode_of(audit.last_file()) == 0600);
    CHECK(mode_of(audit.root.path / "keys") == 0700);
    CHECK(mode_of(audit.root.path / "keys/current") == 0600);
    fs::permissions(audit.root.path / "keys/current", fs::perms(0666));  // put back by a copy, say
    audit.live(1);
    CHECK(mode_of(audit.root.path / "keys/current") == 0600);
    const auto text = content_of(audit.last_file());
    std::string before = audit::no_digest;
    for (std::size_t at = 0; at < text.size();) {
        const auto line = text.substr(at, text.find('\n', at) - at);
        const auto body = line.substr(0, line.find(",\"chain\":"));
        before = sha256_hex(before + body);
        CHECK(line == body + ",\"chain\":\"" + before + "\"}");
        at += line.size() + 1;
    }
    CHECK(audit.report().last.digest == before);
}

TEST_CASE("a further server goes on with the audit, whose records are numbered without a gap")
{
    audit_rig audit;
    audit.live(3);
    const auto first = audit.report();
    audit.live(3);
    const auto both = audit.report();
    CHECK(!both.bad);
    CHECK(both.files == 1);
    CHECK(both.last.number == 2 * first.last.number - 1);  // the file begins once
    CHECK(both.starts == 2);
    CHECK(both.stops == 2);
    CHECK(both.first_key == first.first_key);
}

TEST_CASE("a full file hands over to the next one, with another key, and the old key is erased")
{
    audit_rig audit;
    audit::journal own(audit.options(1000));
    const auto first_key = own.key();
    const auto secret = content_of(audit.root.path / "keys/current");
    for (int i = 0; i < 20; ++i) {
        audit_rig::call(own, "ann");
        REQUIRE(own.seal());
    }
    CHECK(own.key() != first_key);
    CHECK(content_of(audit.root.path / "keys/current") != secret);
    CHECK(!fs::exists(audit.root.path / "keys/next"));
    const auto report = audit.report();
    CHECK(audit.fault().empty());
    CHECK(report.files > 3);
    CHECK(report.first_key == first_key);
    CHECK(report.key == own.key());
}

TEST_CASE("the oldest files go when there are more than are kept, and the rest can still be followed to the first key")
{
    audit_rig audit;
    audit.live(30, 1000, 2);
    const auto report = audit.report();
    CHECK(audit.fault().empty());
    CHECK(report.files == 2);
    CHECK(report.retired > 3);
    CHECK(report.first > 10);
    CHECK(audit.fault({.first_key = report.first_key}).empty());
    CHECK(!audit.fault({.first_key = report.key}).empty());
}

TEST_CASE("an audit is whole while its server removes the oldest file, whose head is written before")
{
    audit_rig audit;
    audit.live(30, 1000);
    std::map<std::uint64_t, std::pair<fs::path, std::string>> before;
    for (const auto& each : audit::files_in(audit.folder())) before[each.first] = {each.path, content_of(each.path)};
    audit.live(2, 1000, 3);
    const auto retired = audit.report().retired;
    REQUIRE(retired > 3);
    int put_back = 0;
    for (auto each = before.rbegin(); each != before.rend(); ++each) {
        const auto& [path, content] = each->second;
        if (fs::exists(path)) continue;
        write_content(path, content);
        CHECK(audit.fault().empty());
        ++put_back;
    }
    CHECK(put_back == static_cast<int>(retired));
    fs::remove(before.begin()->second.first);
    fs::remove(std::next(before.begin(), 2)->second.first);
    CHECK(!audit.fault().empty());
}

TEST_CASE("a line that the server's end has cut off stays, and the next start notes it")
{
    audit_rig audit;
    {
        audit::journal own(audit.options());
        for (int i = 0; i < 3; ++i) audit_rig::call(own, "ann");
        REQUIRE(own.write());
    }
    const auto file = audit.last_file();
    const auto whole = content_of(file);
    const auto line_begins = whole.rfind('\n', whole.size() - 2) + 1;
    for (auto size = line_begins; size <= whole.size(); ++size) {
        write_content(file, whole.substr(0, size));
        INFO("cut at " << size);
        const auto before = audit.report();
        CHECK(!before.bad);
        CHECK(before.torn_bytes == (size == whole.size() ? 0 : size - line_begins));
        audit.live(1);
        const auto after = audit.report();
        CHECK(audit.fault().empty());
        CHECK(after.torn_bytes == 0);
        const bool is_cut = size != line_begins && size + 1 < whole.size();
        CHECK(after.torn_lines == (is_cut ? 1 : 0));
        CHECK(content_of(file).starts_with(whole.substr(0, size)));
        fs::remove(audit.folder() / "head");
    }
}

TEST_CASE("a line that was cut off twice is noted as one")
{
    audit_rig audit;
    audit.live(2);
    const auto file = audit.last_file();
    write_content(file, content_of(file) + "{\"n\":77,\"at\n{\"n\":77,\"kind\":\"torn\"");
    audit.live(1);
    CHECK(audit.fault().empty());
    CHECK(audit.report().torn_lines == 1);
}

TEST_CASE("bytes that a record calls cut off are found when they change later")
{
    audit_rig audit;
    audit.live(2);
    const auto file = audit.last_file();
    const auto whole = content_of(file);
    write_content(file, whole + "{\"n\":7");
    audit.live(1);
    auto text = content_of(file);
    text[whole.size() + 3] = 'm';
    write_content(file, text);
    CHECK(!audit.fault().empty());
}

TEST_CASE("a change of files that was cut off anywhere is completed or taken back")
{
    audit_rig audit;
    audit.live(2);
    const auto keys = audit.root.path / "keys";
    const auto next = audit::signing_key::make();
    SECTION("the next key is there, and nothing tells of it") { write_content(keys / "next", next.seed() + "\n"); }
    SECTION("the next key was cut off") { write_content(keys / "next", next.seed().substr(0, 20)); }
    SECTION("the next file is there, and empty")
    {
        write_content(audit.folder() / audit::file_name_of(audit.report().last.number + 1), "");
    }
    SECTION("the next file is there, and its first line was cut off")
    {
        write_content(audit.folder() / audit::file_name_of(audit.report().last.number + 1), "{\"n\":");
    }
    audit.live(2);
    CHECK(audit.fault().empty());
    CHECK(audit.report().files == 1);
}

TEST_CASE("a server that was killed between a file's last head and the next file goes on with the next file")
{
    audit_rig audit;
    const auto keys = audit.root.path / "keys";
    std::string key_before;
    {
        audit::journal own(audit.options(1));
        key_before = content_of(keys / "current");
        REQUIRE(own.seal());
    }
    auto files = audit::files_in(audit.folder());
    REQUIRE(files.size() == 2);
    const auto next = content_of(keys / "current");
    SECTION("the next file is not there, nor is the key in its place")
    {
        fs::remove(files.back().path);
        write_content(keys / "current", key_before);
        write_content(keys / "next", next);
    }
    SECTION("the next file is there, and the key is not in its place")
    {
        write_content(keys / "current", key_before);
        write_content(keys / "next", next);
    }
    SECTION("the old key is half erased")
    {
        write_content(keys / "current", std::string(30, '0'));
        write_content(keys / "next", next);
    }
    audit.live(2);
    CHECK(audit.fault().empty());
    CHECK(content_of(keys / "current") == next);
    CHECK(!fs::exists(keys / "next"));
}

TEST_CASE("a server does not go on with an audit whose last file, or whose key, is another one")
{
    audit_rig audit;
    audit.live(20, 1000);
    auto files = audit::files_in(audit.folder());
    REQUIRE(files.size() > 2);
    SECTION("the last files are missing")
    {
        fs::remove(files.back().path);
        fs::remove(files.end()[-2].path);
    }
    SECTION("the keys are missing") { fs::remove_all(audit.root.path / "keys"); }
    CHECK_THROWS_AS(audit::journal(audit.options()), audit::audit_error);
}

TEST_CASE("a server that goes on without the last file says that records are missing")
{
    audit_rig audit;
    audit.live(20, 1000);
    fs::remove(audit.last_file());
    const audit::journal own(audit.options());
    CHECK(own.damage().find("are missing at the end") != std::string::npos);
}

TEST_CASE("records that were removed or changed at the end are told at the start, and stay visible")
{
    audit_rig audit;
    audit.live(6);
    const auto file = audit.last_file();
    auto text = content_of(file);
    std::string expected;
    SECTION("removed")
    {
        text.resize(text.find("{\"n\":5,"));
        expected = "missing at the end";
    }
    SECTION("changed")
    {
        text.replace(text.find("ann"), 3, "bob");
        expected = "line 3: its digest";
    }
    write_content(file, text);
    {
        audit::journal own(audit.options());
        CHECK(own.damage().find(expected) != std::string::npos);
    }
    if (expected.starts_with("line")) CHECK(!audit.fault().empty());
}

TEST_CASE("a full disk takes the records when it has room again, and none is lost")
{
    audit_rig audit;
    audit::journal own(audit.options());
    REQUIRE(own.seal());
    {
        const full_disk full(fs::file_size(audit.last_file()) + 500);
        for (int i = 0; i < 10; ++i) audit_rig::call(own, "ann");
        CHECK(!own.write());
        CHECK(own.trouble().find("cannot be written") != std::string::npos);
        CHECK(own.has_unwritten());
        CHECK(!own.seal());
        CHECK(!audit.report().bad);
        CHECK(audit.report().torn_bytes > 0);
        audit_rig::call(own, "bob");
        CHECK(!own.write());
    }
    CHECK(own.seal());
    CHECK(own.trouble().empty());
    CHECK(audit.fault().empty());
    CHECK(audit.report().last.number == 14);  // the file, a head, eleven calls, a head
    CHECK(audit.report().torn_lines == 0);
}

TEST_CASE("the next file waits for a disk with room, and the records with it")
{
    audit_rig audit;
    audit::journal own(audit.options(600));
    for (int i = 0; i < 3; ++i) audit_rig::call(own, "ann");
    {
        const full_disk full(2500);
        REQUIRE(own.write());
        fs::permissions(audit.folder(), fs::perms::owner_read | fs::perms::owner_exec);
        const bool rules_hold = ::geteuid() != 0;
        const bool sealed = own.seal();
        CHECK(sealed != rules_hold);
        fs::permissions(audit.folder(), fs::perms::owner_all);
        audit_rig::call(own, "bob");
        own.write();
    }
    CHECK(own.seal());
    CHECK(own.seal());
    CHECK(audit.fault().empty());
    CHECK(audit.report().files >= 2);
}

TEST_CASE("a file that was removed under the server is written again")
{
    audit_rig audit;
    audit::journal own(audit.options());
    for (int i = 0; i < 3; ++i) audit_rig::call(own, "ann");
    REQUIRE(own.seal());
    const auto before = content_of(own.file());
    fs::remove(own.file());
    audit_rig::call(own, "bob");
    CHECK(own.write());
    CHECK(own.seal());
    CHECK(own.damage().find("was removed by somebody") != std::string::npos);
    CHECK(content_of(own.file()).starts_with(before));
    CHECK(audit.fault().empty());
}

TEST_CASE("a folder that is gone is trouble until it is back, and no record is lost")
{
    audit_rig audit;
    audit::journal own(audit.options());
    audit_rig::call(own, "ann");
    REQUIRE(own.seal());
    fs::remove_all(audit.folder());
    audit_rig::call(own, "bob");
    CHECK(!own.seal());
    CHECK(!own.write());
    CHECK(own.trouble().find("was removed") != std::string::npos);
    fs::create_directory(audit.folder());
    CHECK(own.write());
    CHECK(own.seal());
    CHECK(own.trouble().empty());
    CHECK(audit.fault().empty());
    CHECK(audit.report().last.number == 5);
}

TEST_CASE("a file that somebody has exchanged is not written to")
{
    audit_rig audit;
    audit::journal own(audit.options());
    audit_rig::call(own, "ann");
    REQUIRE(own.seal());
    fs::rename(own.file(), audit.root.path / "moved");
    write_content(own.file(), "another one\n");
    audit_rig::call(own, "bob");
    CHECK(!own.seal());
    CHECK(own.trouble().find("was exchanged") != std::string::npos);
    fs::rename(audit.root.path / "moved", own.file());
    CHECK(own.seal());
    CHECK(audit.fault().empty());
}

TEST_CASE("an audit has one writer at a time")
{
    audit_rig audit;
    const audit::journal own(audit.options());
    std::string sentence;
    try {
        const audit::journal other(audit.options());
    } catch (const audit::audit_error& refused) {
        sentence = refused.what();
    }
    CHECK(sentence.find("another process keeps the audit") != std::string::npos);
}

TEST_CASE("a signature is of its text and its key")
{
    const auto one = audit::signing_key::make(), other = audit::signing_key::make();
    const auto signature = one.sign("text");
    CHECK(audit::is_signed("text", signature, one.public_key()));
    CHECK(!audit::is_signed("texts", signature, one.public_key()));
    CHECK(!audit::is_signed("text", signature, other.public_key()));
    CHECK(!audit::is_signed("text", signature.substr(2), one.public_key()));
    CHECK(!audit::is_signed("text", "", ""));
    CHECK(audit::signing_key(one.seed()).public_key() == one.public_key());
}
