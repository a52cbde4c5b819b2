#include "test/support/catch.hpp"

#include "load/histogram.hpp"

#include <random>

using cmcp::load::histogram;

TEST_CASE("a histogram knows every percentile to within a hundredth")
{
    std::mt19937_64 random(1);
    std::vector<std::int64_t> values;
    histogram times;
    for (int i = 0; i < 20'000; ++i) {
        auto value = static_cast<std::int64_t>(std::exp(std::uniform_real_distribution<>(0, 23)(random)));
        values.push_back(value);
        times.record(value);
    }
    std::sort(values.begin(), values.end());
    for (double percent : {0.1, 10.0, 50.0, 90.0, 99.0, 99.9}) {
        auto rank = static_cast<std::size_t>(std::ceil(static_cast<double>(values.size()) * percent / 100)) - 1;
        auto exact = static_cast<double>(values[rank]);
        CHECK(static_cast<double>(times.percentile(percent)) >= exact);
        CHECK(static_cast<double>(times.percentile(percent)) <= exact * 1.01 + 1);
    }
    CHECK(times.percentile(100) == values.back());
    CHECK(times.max() == values.back());
    CHECK(times.min() == values.front());
    CHECK(times.count() == values.size());
}

TEST_CASE("merged histograms are as one that recorded everything")
{
    histogram a, b, both;
    for (std::int64_t i = 1; i < 1000; ++i) {
        (i % 3 == 0 ? a : b).record(i * i);
        both.record(i * i);
    }
    a.merge(b);
    CHECK(a.count() == both.count());
    CHECK(a.percentile(50) == both.percentile(50));
    CHECK(a.percentile(99) == both.percentile(99));
    CHECK(a.min() == both.min());
    CHECK(a.mean() == Approx(both.mean()));
}

TEST_CASE("an empty histogram answers zero")
{
    histogram none;
    CHECK(none.percentile(99) == 0);
    CHECK(none.mean() == 0);
    none.record(-5);
    CHECK(none.max() == 0);
}
