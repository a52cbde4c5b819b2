#include "log/bounded_log.hpp"
#include "log/request_id.hpp"
#include "test/support/log_lines.hpp"

#include <set>

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

TEST_CASE("ids are unique within a start and hold what tells the start")
{
    std::set<std::string> all;
    const auto first = log::next_id('r');
    const auto start = first.substr(0, first.rfind('-'));
    CHECK(start.size() == std::string_view("r-x7k2m").size());
    for (int i = 0; i < 1000; ++i) {
        const auto id = log::next_id('r');
        CHECK(log::is_plain_id(id));
        CHECK(id.starts_with(start + "-"));
        all.insert(id);
    }
    CHECK(all.size() == 1000);
}

TEST_CASE("an id of a peer is short and plain or none")
{
    for (const char* good : {"a", "req-1", "0af7651916cd43dd8448eb211c80319c", "A.b_c-9"})
        CHECK(log::is_plain_id(good));
    for (const char* bad : {"", "a b", "a\nb", "a=b", "\"a\"", "é", "a/b", "a;b"}) CHECK_FALSE(log::is_plain_id(bad));
    CHECK(log::is_plain_id(std::string(64, 'x')));
    CHECK_FALSE(log::is_plain_id(std::string(65, 'x')));
}

TEST_CASE("of a flood of events a few go to the log each second and a line counts the rest")
{
    log_lines log;
    log::bounded_log events("refused_more", 10);
    const auto begin = log::bounded_log::clock::now();
    int written = 0;
    for (int i = 0; i < 5'000; ++i) written += events.may_write(begin + i * 100us) ? 1 : 0;  // half a second
    CHECK(written == 10);
    CHECK(log.of("refused_more").empty());
    events.settle(begin + 999ms);
    CHECK(log.of("refused_more").empty());
    CHECK(events.may_write(begin + 1000ms));
    CHECK(log.only("refused_more").at("count") == 4'990);
    events.settle(begin + 3s);
    CHECK(log.of("refused_more").size() == 1);
}
