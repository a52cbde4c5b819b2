#include "metrics/span_queue.hpp"
#include "metrics/trace_context.hpp"

#include "test/support/catch.hpp"

using namespace cmcp::metrics;

TEST_CASE("a traceparent names trace, caller and whether it is sampled")
{
    const auto context = parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    REQUIRE(context);
    CHECK(context->trace == "4bf92f3577b34da6a3ce929d0e0e4736");
    CHECK(context->span == "00f067aa0ba902b7");
    CHECK(context->sampled);
    CHECK_FALSE(parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")->sampled);
    for (const char* wrong : {"", "00-0-0-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                              "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                              "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
                              "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"})
        CHECK_FALSE(parse_traceparent(wrong));
}

TEST_CASE("spans wait for their export, the newest where there are too many")
{
    span_queue queue;
    queue.add({});
    CHECK(queue.size() == 0);
    CHECK_FALSE(queue.wants({}));
    queue.open();
    CHECK(queue.wants({}));
    CHECK_FALSE(queue.wants({"t", "s", false}));
    constexpr int many = 10'000;
    for (int i = 0; i < many; ++i) {
        span one;
        one.name = std::to_string(i);
        queue.add(std::move(one));
    }
    CHECK(queue.dropped() == many - queue.size());
    const auto first = queue.take(3);
    CHECK(first.size() == 3);
    CHECK(first.front().name == std::to_string(queue.dropped()));
    queue.close();
    CHECK(queue.take(1).empty());
}
