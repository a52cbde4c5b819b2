// Each way to change, remove or reorder what an audit holds is found.
#include "test/access/audit/audit_rig.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr std::uint64_t small_file = 1000;

std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find('\n', at) + 1;
        lines.push_back(text.substr(at, end - at));
        at = end;
    }
    return lines;
}

std::string joined_lines(const std::vector<std::string>& lines)
{
    std::string text;
    for (const auto& line : lines) text += line;
    return text;
}

// Two files, before which others were removed as the oldest ones.
struct tampered_audit : audit_rig {
    tampered_audit()
    {
        live(7, small_file, 2);
        whole = contents_of(folder());
        REQUIRE(whole.size() == 4);
        REQUIRE(whole.contains("retired.jsonl"));
        REQUIRE(fault().empty());
    }

    bool finds(const std::string& name, const std::string& text)
    {
        write_content(folder() / name, text);
        const bool found_fault = !fault().empty();
        write_content(folder() / name, whole.at(name));
        return found_fault;
    }

    std::map<std::string, std::string> whole;
};

}  // namespace

TEST_CASE("a byte of an audit that is another one is found, whichever it is")
{
    tampered_audit audit;
    for (const auto& [name, text] : audit.whole) {
        for (std::size_t at = 0; at < text.size(); ++at) {
            auto other = text;
            other[at] = static_cast<char>(other[at] ^ (1 << at % 8));
            INFO(name << " byte " << at);
            if (!audit.finds(name, other)) FAIL("a change is not found");
        }
    }
}

TEST_CASE("a byte that is missing or was added is found, wherever it is")
{
    tampered_audit audit;
    for (const auto& [name, text] : audit.whole) {
        for (std::size_t at = 0; at < text.size(); ++at) {
            INFO(name << " byte " << at);
            if (!audit.finds(name, text.substr(0, at) + text.substr(at + 1))) FAIL("a missing byte is not found");
            if (!audit.finds(name, text.substr(0, at) + " " + text.substr(at))) FAIL("a further byte is not found");
        }
    }
}

TEST_CASE("the end of a file that is missing is found, wherever it is cut")
{
    tampered_audit audit;
    for (const auto& [name, text] : audit.whole) {
        for (std::size_t size = 0; size < text.size(); ++size) {
            INFO(name << " cut at " << size);
            if (!audit.finds(name, text.substr(0, size))) FAIL("a cut is not found");
        }
    }
}

TEST_CASE("records that are missing, doubled or in another order are found")
{
    tampered_audit audit;
    for (const auto& [name, text] : audit.whole) {
        const auto lines = lines_of(text);
        for (std::size_t at = 0; at < lines.size(); ++at) {
            INFO(name << " line " << at + 1);
            auto fewer = lines, doubled = lines;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
            doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(at), lines[at]);
            if (!audit.finds(name, joined_lines(fewer))) FAIL("a missing line is not found");
            if (!audit.finds(name, joined_lines(doubled))) FAIL("a doubled line is not found");
            for (std::size_t other = 0; other < at; ++other) {
                auto exchanged = lines;
                std::swap(exchanged[at], exchanged[other]);
                if (lines[at] != lines[other] && !audit.finds(name, joined_lines(exchanged)))
                    FAIL("another order is not found");
            }
        }
    }
}

TEST_CASE("a file of an audit that is missing or has another one's name is found")
{
    tampered_audit audit;
    for (const auto& [name, text] : audit.whole) {
        INFO(name);
        std::filesystem::rename(audit.folder() / name, audit.root.path / name);
        CHECK(!audit.fault().empty());
        for (const auto& [other, content] : audit.whole) {
            if (other == name) continue;
            write_content(audit.folder() / name, content);
            CHECK(!audit.fault().empty());
            std::filesystem::remove(audit.folder() / name);
        }
        std::filesystem::rename(audit.root.path / name, audit.folder() / name);
    }
    CHECK(audit.fault().empty());
}

TEST_CASE("the first bad place is told by file and line")
{
    audit_rig audit;
    audit.live(6);
    const auto file = audit.last_file();
    auto lines = lines_of(content_of(file));
    lines[3].replace(lines[3].find("ann"), 3, "bob");
    write_content(file, joined_lines(lines));
    CHECK(audit.fault() ==
          "audit-000000000001.jsonl, line 4: its digest is not that of its text and of the record before it");
}

TEST_CASE("records that somebody writes anew, with all digests, are found by the signature")
{
    audit_rig audit;
    audit.live(4);
    const auto file = audit.last_file();
    const auto lines = lines_of(content_of(file));
    std::string forged;
    std::string before = audit::no_digest;
    for (auto line : lines) {
        const auto own = line.find(",\"chain\"");
        auto body = line.substr(0, own);
        if (const auto name = body.find("ann"); name != std::string::npos) body.replace(name, 3, "bob");
        digest_maker digests;
        before = digests.of({before, body});
        forged += body + ",\"chain\":\"" + before + "\"}\n";
    }
    write_content(file, forged);
    CHECK(audit.fault() == "audit-000000000001.jsonl, line 5: it is the head of other records");
}

TEST_CASE("an audit that was written anew with other keys does not begin by the key that its owner knows")
{
    audit_rig genuine, forged;
    genuine.live(3);
    forged.live(3);
    const auto known = genuine.report().first_key;
    CHECK(genuine.fault({.first_key = known}).empty());
    CHECK(forged.fault({.first_key = known}).find("begins by the key") != std::string::npos);
}

TEST_CASE("records that are missing behind a head that was published are found")
{
    audit_rig audit;
    audit.live(2);
    const auto earlier = contents_of(audit.folder());
    audit.live(2);
    const auto published = audit.report().sealed;
    const std::vector<audit::published_head> heads{{published, "log, line 1"}};
    CHECK(audit.report({{}, heads}).published == 1);
    for (const auto& [name, text] : earlier) write_content(audit.folder() / name, text);
    CHECK(audit.fault().empty());  // nothing in the folder tells
    CHECK(audit.fault({{}, heads}).find("was published, and the audit ends at record") != std::string::npos);
    audit.live(9);
    CHECK(audit.fault({{}, heads}).find("was published, and record") != std::string::npos);
}

TEST_CASE("published heads are read out of any text")
{
    audit_rig audit;
    const auto file = audit.root.path / "log";
    const std::string digest(64, 'a');
    write_content(file, "2026 INFO audit_head head=7:" + digest + " key=1\n{\"head\":\"12:" + digest +
                            "\"}\nat 10:30:00 nothing\n");
    const auto heads = audit::heads_in(file);
    REQUIRE(heads.size() == 2);
    CHECK(heads[0].position.number == 7);
    CHECK(heads[1].position == audit::chain_position{12, digest});
    CHECK(heads[1].where == "log, line 2");
}
