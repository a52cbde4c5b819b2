// The audit of a running server: records that come on one thread and are written by another.
#include "audit/writer.hpp"

#include "jsonrpc/canonical_json.hpp"
#include "test/access/audit/audit_rig.hpp"
#include "test/support/eventually.hpp"
#include "test/support/log_lines.hpp"
#include "text/encodings.hpp"

#include <sys/resource.h>
#include <csignal>
#include <thread>

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct writing_rig : audit_rig {
    audit::writer_options quick() const
    {
        audit::writer_options how;
        how.journal = options();
        how.seal_every = 20ms;
        how.write_every = 1ms;
        return how;
    }

    std::vector<json::object> records(std::string_view kind = {}) const
    {
        std::vector<json::object> all;
        for (const auto& file : audit::files_in(folder())) {
            audit::line_reader lines(file.path);
            while (const auto line = lines.next()) {
                auto record = json::parse(*line).as_object();
                if (kind.empty() || record.at("kind").as_string() == kind) all.push_back(std::move(record));
            }
        }
        return all;
    }
};

void call(audit::sink& to, int number, const json::object* arguments = nullptr)
{
    to.add(audit::kind::call,
           {{"request", "r-" + std::to_string(number)}, {"ms", 1.5ms}, {"left_out", std::optional<int>()}}, arguments);
}

}  // namespace

TEST_CASE("records come into the audit in their order, with digests of their arguments alone")
{
    writing_rig rig;
    const json::object arguments{{"var_name", "PATH"}, {"a", 1}};
    {
        audit::writer own(rig.quick());
        own.start();
        for (int i = 0; i < 1000; ++i) call(own, i, &arguments);
    }
    const auto calls = rig.records("call");
    REQUIRE(calls.size() == 1000);
    for (std::size_t i = 0; i < calls.size(); ++i) CHECK(member_text(calls[i], "request") == "r-" + std::to_string(i));
    CHECK(member_text(calls[0], "arguments") == sha256_hex("{\"a\":1,\"var_name\":\"PATH\"}"));
    CHECK(calls[0].at("ms").to_number<double>() == 1.5);
    CHECK(!calls[0].contains("left_out"));
    CHECK(member_text(rig.records("stop").at(0), "kind") == "stop");
    CHECK(rig.fault().empty());
    CHECK(rig.report().sealed == rig.report().last);
}

TEST_CASE("long arguments have the same digest as if they were short, and none are kept where that is off")
{
    writing_rig rig;
    const json::object arguments{{"code", std::string(100'000, 'x') + "\n\"é"}};
    auto how = rig.quick();
    how.arguments = GENERATE(true, false);
    {
        audit::writer own(how);
        own.start();
        call(own, 1, &arguments);
    }
    std::string text;
    jsonrpc::append_canonical(text, arguments);
    CHECK(member_text(rig.records("call").at(0), "arguments") == (how.arguments ? sha256_hex(text) : ""));
    CHECK(content_of(rig.last_file()).size() < 5000);
}

TEST_CASE("texts of a peer make no lines, no members and no long records")
{
    writing_rig rig;
    {
        audit::writer own(rig.quick());
        own.start();
        own.add(audit::kind::login_refused,
                {{"path", "/\n{\"n\":1}\",\"x\":\"y\xff"}, {"peer", std::string(100'000, 'p')}}, nullptr);
    }
    const auto refused = rig.records("login_refused").at(0);
    CHECK(member_text(refused, "path") == "/\n{\"n\":1}\",\"x\":\"y\xef\xbf\xbd");
    CHECK(member_text(refused, "peer").size() == 400);
    CHECK(!refused.contains("x"));
    CHECK(rig.fault().empty());
}

TEST_CASE("heads are published to the log and to a file of the owner's, at the start, at times and at the end")
{
    const log_lines log;
    writing_rig rig;
    auto how = rig.quick();
    how.heads = rig.root.path / "heads";
    how.publish_every = 1ms;
    {
        audit::writer own(how);
        own.start();
        own.add(audit::kind::start, {}, nullptr);
        REQUIRE(eventually([&] { return log.of("audit_head").size() == 1; }));
        call(own, 1);
        REQUIRE(eventually([&] { return log.of("audit_head").size() == 2; }));
    }
    const auto heads = audit::heads_in(how.heads);
    REQUIRE(heads.size() == 3);
    CHECK(rig.report({{}, heads}).published == 3);
    CHECK(log.of("audit_head").size() == 3);
    CHECK(member_text(log.of("audit_head").back(), "head") == rig.report().last.text());
    CHECK(member_text(log.only("audit"), "key") == rig.report().first_key);
}

TEST_CASE("records beyond the memory are counted, and the audit says how many")
{
    writing_rig rig;
    auto how = rig.quick();
    how.memory = {2000, 4000};
    audit::writer own(how);
    for (int i = 0; i < 1000; ++i) call(own, i);  // nobody writes yet
    CHECK(own.refusal().empty());
    own.start();
    own.stop();
    const auto dropped = rig.records("dropped");
    REQUIRE(dropped.size() == 1);
    const auto lost = dropped[0].at("records").as_int64();
    CHECK(lost > 900);
    // The record `stop` finds room where the thread has written something before it.
    const auto recorded = rig.records("call").size() + rig.records("stop").size();
    CHECK(recorded + static_cast<std::size_t>(lost) == 1001);
    CHECK(rig.report().dropped == static_cast<std::uint64_t>(lost));
    CHECK(own.now().dropped == static_cast<std::uint64_t>(lost));
}

TEST_CASE("an audit that is required refuses calls while its disk takes nothing, and takes them again")
{
    const log_lines log;
    writing_rig rig;
    auto how = rig.quick();
    how.required = true;
    audit::writer own(how);
    own.start();
    call(own, 1);
    REQUIRE(eventually([&] { return own.now().sealed.number != 0; }));
    CHECK(own.refusal().empty());
    fs::rename(rig.folder(), rig.root.path / "away");
    call(own, 2);
    REQUIRE(eventually([&] { return !own.refusal().empty(); }));
    CHECK(own.refusal().find("AUDIT_REQUIRED") != std::string::npos);
    CHECK(!own.now().trouble.empty());
    CHECK(log.of("audit_not_written").size() == 1);
    fs::rename(rig.root.path / "away", rig.folder());
    REQUIRE(eventually([&] { return own.refusal().empty(); }));
    call(own, 3);
    own.stop();
    CHECK(log.of("audit_written_again").size() == 1);
    CHECK(rig.records("call").size() == 3);
    CHECK(rig.records("dropped").at(0).at("refused_calls").as_int64() >= 2);
    CHECK(rig.fault().empty());
}

TEST_CASE("an audit that is not required refuses nothing")
{
    writing_rig rig;
    audit::writer own(rig.quick());
    own.start();
    call(own, 1);
    REQUIRE(eventually([&] { return own.now().sealed.number != 0; }));
    fs::rename(rig.folder(), rig.root.path / "away");
    call(own, 2);
    REQUIRE(eventually([&] { return !own.now().trouble.empty(); }));
    CHECK(own.refusal().empty());
    fs::rename(rig.root.path / "away", rig.folder());
    REQUIRE(eventually([&] { return own.now().trouble.empty(); }));
}

TEST_CASE("the latest lines are at hand")
{
    writing_rig rig;
    audit::writer own(rig.quick());
    own.start();
    for (int i = 0; i < 5000; ++i) call(own, i);
    REQUIRE(eventually([&] { return own.latest().find("r-4999") != std::string::npos; }));
    const auto lines = own.latest();
    CHECK(lines.size() < (1u << 20));
    CHECK(lines.starts_with("{\"n\":"));
    CHECK(lines.ends_with("\"}\n"));
}

// The cost of a record on the thread that takes calls: run with "[cost]".
TEST_CASE("the cost of a record", "[.][cost]")
{
    writing_rig rig;
    audit::writer_options how;
    how.journal = rig.options();
    how.memory = {1u << 30, 2u << 30};
    audit::writer own(how);
    own.start();
    const json::object arguments{{"var_name", "PATH"}};
    const std::string request = "r-x7k2m-123456", principal = "robot", tool = "system_env_var",
                      client = "container-mcp-load", key = "key 0123456789ab", peer = "127.0.0.1";
    constexpr int count = 1'000'000;
    const auto began = std::chrono::steady_clock::now();
    std::chrono::nanoseconds spent{};
    for (int i = 0; i < count / 100; ++i) {
        const auto turn = std::chrono::steady_clock::now();
        for (int j = 0; j < 100; ++j)
            own.add(audit::kind::call,
                    {{"request", request},
                     {"principal", principal},
                     {"credential", key},
                     {"peer", peer},
                     {"session", log::unless_empty("")},
                     {"client", client},
                     {"client_version", "0.1.0"},
                     {"tool", tool},
                     {"sandbox", log::unless_empty("")},
                     {"cause", "ok"},
                     {"ms", 112us},
                     {"bytes", 123}},
                    &arguments);
        spent += std::chrono::steady_clock::now() - turn;
        std::this_thread::sleep_until(turn + 1ms);
    }
    own.stop();
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - began;
    WARN("a record: " << spent.count() / count << " ns where it is taken; "
                      << content_of(rig.last_file()).size() / count << " bytes; the process used "
                      << used.ru_utime.tv_sec + used.ru_stime.tv_sec << " s in " << all.count());
}

TEST_CASE("a flood of refusals takes a bounded part of the audit, is counted in it, and the chain holds")
{
    writing_rig rig;
    auto how = rig.quick();
    how.shares.minute = 1s;
    constexpr int tries = 30'000;
    const auto refuse = [](audit::writer& to, int i) {
        to.add(
            audit::kind::egress,
            {{"request", "r-1"}, {"principal", "ann"}, {"host", "h" + std::to_string(i % 3)}, {"decision", "refused"}},
            nullptr);
    };
    const auto further = [&rig] {
        std::uint64_t all = 0;
        for (const auto& each : rig.records("egress"))
            if (each.contains("further")) all += each.at("further").to_number<std::uint64_t>();
        return all;
    };
    {
        audit::writer own(how);
        own.start();
        call(own, 1);
        for (int i = 0; i < tries; ++i) refuse(own, i);
        // By the minute's end, without another record.
        REQUIRE(eventually([&] { return own.latest().find("\"further\":") != std::string::npos; }));
        refuse(own, 0);
        refuse(own, 1);
    }
    const auto all = rig.records("egress");
    const auto sums =
        static_cast<std::size_t>(std::ranges::count_if(all, [](const auto& each) { return each.contains("further"); }));
    CHECK(further() + all.size() - sums == tries + 2);
    CHECK(rig.records("call").size() == 1);
    CHECK(member_text(rig.records().back(), "kind") != "egress");
    CHECK(rig.fault().empty());
    CHECK(rig.report().sealed == rig.report().last);
}
