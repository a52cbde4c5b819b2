#include "test/support/catch.hpp"

#include "async/deadline_wheel.hpp"

#include <vector>

using namespace cmcp;
using std::chrono::milliseconds;

namespace {

struct alarm_clock final : deadline_wheel::entry {
    alarm_clock(std::shared_ptr<deadline_wheel> on, std::vector<int>& rung, int number)
        : entry(std::move(on)), rung_(rung), number_(number)
    {
    }
    void deadline_passed() override
    {
        rang_at = deadline_wheel::clock::now();
        rung_.push_back(number_);
    }

    deadline_wheel::clock::time_point rang_at;

private:
    std::vector<int>& rung_;
    int number_;
};

}  // namespace

TEST_CASE("deadlines pass in their order and never early")
{
    asio::io_context io;
    auto wheel = std::make_shared<deadline_wheel>(io.get_executor());
    std::vector<int> rung;
    alarm_clock late(wheel, rung, 2), early(wheel, rung, 1);
    auto now = deadline_wheel::clock::now();
    late.set_deadline(milliseconds(120));
    early.set_deadline(milliseconds(40));
    io.run();
    CHECK(rung == std::vector<int>{1, 2});
    CHECK(early.rang_at - now >= milliseconds(40));
    CHECK(late.rang_at - now >= milliseconds(120));
}

TEST_CASE("a deadline that was moved or cleared does not pass at its old time")
{
    asio::io_context io;
    auto wheel = std::make_shared<deadline_wheel>(io.get_executor());
    std::vector<int> rung;
    alarm_clock moved(wheel, rung, 1), cleared(wheel, rung, 2), sooner(wheel, rung, 3);
    auto now = deadline_wheel::clock::now();
    moved.set_deadline(milliseconds(30));
    moved.set_deadline(milliseconds(100));
    cleared.set_deadline(milliseconds(30));
    cleared.clear_deadline();
    sooner.set_deadline(milliseconds(60'000));
    sooner.set_deadline(milliseconds(30));
    io.run();
    CHECK(rung == std::vector<int>{3, 1});
    CHECK(moved.rang_at - now >= milliseconds(100));
    CHECK(sooner.rang_at - now < milliseconds(30'000));
}

TEST_CASE("nothing is waited for once the entries are gone")
{
    asio::io_context io;
    auto wheel = std::make_shared<deadline_wheel>(io.get_executor());
    std::vector<int> rung;
    auto began = deadline_wheel::clock::now();
    {
        alarm_clock gone(wheel, rung, 1);
        gone.set_deadline(milliseconds(600'000));
    }
    io.run();
    CHECK(rung.empty());
    CHECK(deadline_wheel::clock::now() - began < std::chrono::seconds(60));
}
