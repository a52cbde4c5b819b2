// No caller can push the records of others out of the audit.
#include "audit/record_shares.hpp"

#include "audit/record_text.hpp"
#include "jsonrpc/read_object.hpp"
#include "test/support/catch.hpp"
#include "test/support/log_lines.hpp"

#include <string>
#include <vector>

using namespace cmcp;
using namespace cmcp::audit;
using namespace std::chrono_literals;

namespace {

using clock_type = record_shares::clock;

const clock_type::time_point start = clock_type::time_point(1000h);

record_shares::limits small()
{
    record_shares::limits of;
    of.burst = 100'000;
    of.a_minute = 10'000;
    of.alike = 5;
    of.groups = 8;
    return of;
}

struct counted_record {
    json::object text;
    kind is;
};

std::vector<counted_record> read(const std::vector<record_shares::sum>& sums)
{
    std::vector<counted_record> all;
    for (const auto& each : sums)
        all.push_back(
            {jsonrpc::read_object("{\"kind\":\"" + std::string(name_of(each.is)) + "\"" + each.fields + "}"), each.is});
    return all;
}

std::uint64_t counted(const std::vector<counted_record>& sums)
{
    std::uint64_t all = 0;
    for (const auto& each : sums) all += each.text.at("further").to_number<std::uint64_t>();
    return all;
}

struct flood {
    record_shares shares{small()};
    std::uint64_t whole = 0, tries = 0;

    void connect(const std::string& who, const std::string& host, clock_type::time_point at, int port = 443)
    {
        ++tries;
        whole += shares.takes(kind::egress,
                              {{"request", "r-" + std::to_string(tries)},
                               {"principal", who},
                               {"host", host},
                               {"port", port},
                               {"decision", "refused"},
                               {"rule", "network"}},
                              at);
    }
    bool call(const std::string& who, std::string_view cause, clock_type::time_point at)
    {
        ++tries;
        const bool taken = shares.takes(
            kind::call,
            {{"request", "r-" + std::to_string(tries)}, {"principal", who}, {"tool", "file_read"}, {"cause", cause}},
            at);
        whole += taken;
        return taken;
    }
};

}  // namespace

TEST_CASE("the first connections to a host are recorded whole, and the rest of the minute as a number")
{
    flood s;
    for (int i = 0; i < 1000; ++i) s.connect("ann", "evil.example", start);
    s.connect("ann", "other.example", start);
    s.connect("bob", "evil.example", start);
    CHECK(s.whole == 5 + 2);
    CHECK(s.shares.ended(start + 59s).empty());
    CHECK(s.shares.next() == start + 60s);
    const auto sums = read(s.shares.ended(start + 60s));
    REQUIRE(sums.size() == 1);
    CHECK(sums[0].is == kind::egress);
    CHECK(test::member_text(sums[0].text, "principal") == "ann");
    CHECK(test::member_text(sums[0].text, "host") == "evil.example");
    CHECK(test::member_text(sums[0].text, "decision") == "refused");
    CHECK(sums[0].text.at("port").to_number<int>() == 443);
    CHECK(sums[0].text.at("further").to_number<int>() == 995);
    CHECK_FALSE(test::member_text(sums[0].text, "since").empty());
    CHECK(s.shares.next() == clock_type::time_point::max());
    s.connect("ann", "evil.example", start + 61s);
    CHECK(s.whole == 8);  // another minute
}

TEST_CASE("nothing is lost in the count, however different the records are")
{
    flood s;
    std::uint64_t sums = 0, records = 0, whole_calls = 0;
    auto at = start;
    for (int minute = 0; minute < 10; ++minute, at += 60s) {
        for (int i = 0; i < 500; ++i) s.connect("ann", "h" + std::to_string(i) + ".example", at, i);
        for (int i = 0; i < 500; ++i) whole_calls += s.call("ann", "refused", at);
        const auto ended = read(s.shares.ended(at + 60s));
        records += ended.size();
        sums += counted(ended);
    }
    CHECK(sums + s.whole == s.tries);
    CHECK(records <= 10 * 2 * (small().groups + 1));
    CHECK(whole_calls == 10 * 5);  // beside so many hosts
}

TEST_CASE("the records of one caller are bounded in bytes, and those of others stay whole")
{
    flood s;
    const std::uint64_t size = 400;  // at least, of a record as it is reckoned
    for (int i = 0; i < 10'000; ++i) s.call("ann", "ok", start);
    CHECK(s.whole * size <= 100'000);
    CHECK(s.whole > 100);
    CHECK(s.call("bob", "ok", start));
    const auto first = s.whole;
    for (int minute = 1; minute <= 10; ++minute)
        for (int i = 0; i < 1000; ++i) s.call("ann", "ok", start + minute * 60s);
    CHECK((s.whole - first) * size <= 100'000);
    CHECK(s.whole - first >= 10 * 10);
    CHECK(s.call("bob", "ok", start + 600s));
    CHECK(counted(read(s.shares.all())) + s.whole == s.tries);
}

TEST_CASE("acts of administration and the audit's own records are always whole")
{
    record_shares shares(small());
    for (int i = 0; i < 1000; ++i) {
        CHECK(shares.takes(kind::admin, {{"principal", "ann"}, {"cause", "ok"}}, start));
        CHECK(shares.takes(kind::head, {}, start));
    }
    int refused = 0;
    for (int i = 0; i < 1000; ++i)
        refused += shares.takes(kind::admin, {{"principal", "ann"}, {"cause", "refused"}}, start);
    CHECK(refused == 5);
}

TEST_CASE("callers beyond those with an allowance of their own share one")
{
    auto of = small();
    of.principals = 3;
    record_shares shares(of);
    int whole = 0;
    for (int i = 0; i < 2000; ++i)
        whole += shares.takes(kind::call, {{"principal", "p" + std::to_string(i)}, {"cause", "ok"}}, start);
    CHECK(whole < 3 + 250);
    CHECK(counted(read(shares.all())) + static_cast<std::uint64_t>(whole) == 2000);
}

TEST_CASE("an allowance that is whole again is forgotten")
{
    flood s;
    for (int i = 0; i < 100; ++i) s.connect("ann", "evil.example", start);
    CHECK(s.shares.ended(start + 60s).size() == 1);
    s.connect("ann", "evil.example", start + 24h);
    CHECK(s.whole == 6);
    CHECK(s.shares.ended(start + 25h).empty());
}
