#include "async/memory_budget.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;

TEST_CASE("one principal may hold half of the memory, several leave a part to the next")
{
    const auto all = std::make_shared<memory_budget>(1200);
    const auto anna = all->of("anna"), ben = all->of("ben"), cleo = all->of("cleo");
    anna->add(599);
    CHECK_FALSE(anna->exhausted());
    anna->add(1);
    CHECK(anna->exhausted());
    CHECK(anna->own_fault());
    CHECK_FALSE(ben->exhausted());
    ben->add(300);
    CHECK(ben->exhausted());
    CHECK_FALSE(cleo->exhausted());
    anna->remove(600);
    CHECK_FALSE(ben->exhausted());
    CHECK(all->used() == 300);
}

TEST_CASE("the default caller is everybody and may hold all of the memory")
{
    const auto all = std::make_shared<memory_budget>(1000);
    const auto everybody = all->of("");
    everybody->add(999);
    CHECK_FALSE(everybody->exhausted());
    everybody->add(1);
    CHECK(everybody->exhausted());
    CHECK_FALSE(everybody->own_fault());
}

TEST_CASE("logs of one principal leave memory to its messages and to the logs of others")
{
    const auto all = std::make_shared<memory_budget>(1200);
    const auto anna = all->of("anna");
    CHECK(anna->keeps(600));
    anna->add(400);
    CHECK_FALSE(anna->keeps(1));
    CHECK(all->of("ben")->keeps(200));
    CHECK_FALSE(all->of("ben")->keeps(201));
}

TEST_CASE("the budget lives as long as somebody uses a part of it")
{
    auto all = std::make_shared<memory_budget>(1000);
    const auto anna = all->of("anna");
    CHECK(all->of("anna") == anna);
    all.reset();
    anna->add(10);
    CHECK(anna->used() == 10);
}
