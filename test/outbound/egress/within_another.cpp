#include "egress/egress_connector.hpp"
#include "test/outbound/egress/egress_support.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::shared_ptr<const egress_policy> of_sandbox(std::vector<std::string> allow, std::vector<std::string> ceiling,
                                                std::vector<std::string> opened = {})
{
    return std::make_shared<egress_policy>(egress_policy::of_sandbox(read_entries(allow, "network"),
                                                                     read_entries(ceiling, "SANDBOX_NETWORK_ALLOWED"),
                                                                     read_entries(opened, "SANDBOX_NETWORK_PRIVATE")));
}

class bounded_account final : public byte_account {
public:
    explicit bounded_account(std::uint64_t most) : left_(most) {}
    bool take(std::uint64_t bytes) override
    {
        if (bytes > left_) return false;
        left_ -= bytes;
        return true;
    }
    std::string refusal() override { return "Cut: the hour is used up."; }

private:
    std::uint64_t left_;
};

/// A use of the web by code in a sandbox, and the network of that sandbox.
struct uses {
    explicit uses(std::shared_ptr<const egress_policy> of_web, egress_limits of_network = {})
        : outer(std::make_shared<egress_ticket>("sbx_a", of_sandbox({"api.shop.test"}, {"*.shop.test"}), of_network)),
          web(std::make_shared<egress_ticket>("web_scrape", std::move(of_web), egress_limits{}))
    {
        web->stay_within(outer);
    }
    std::string rule(std::string_view name, std::uint16_t port = 443) const
    {
        const auto decision = web->judge(read_host(name), port);
        return decision.allowed ? "" : decision.rule;
    }

    std::shared_ptr<egress_ticket> outer, web;
};

}  // namespace

TEST_CASE("a use within another reaches the names that both allow")
{
    const uses all(rules({"*", "!blog.shop.test"}, {"127.0.0.1"}));
    CHECK(all.rule("api.shop.test").empty());
    CHECK(all.rule("www.shop.test") == "network");
    CHECK(all.rule("elsewhere.test") == "SANDBOX_NETWORK_ALLOWED");
    CHECK(all.rule("127.0.0.1") == "SANDBOX_NETWORK_ALLOWED");
    CHECK(uses(rules({"*.other.test"}, {})).rule("api.shop.test") == "WEB_ALLOWED_DOMAINS");
    CHECK(uses(rules({"!api.shop.test"}, {})).rule("api.shop.test") == "WEB_ALLOWED_DOMAINS");
    CHECK(uses(rules({"*"}, {})).rule("api.shop.test", 25) == "port");
}

TEST_CASE("addresses of a use within another are judged as those of the other")
{
    const auto private_place = asio::ip::make_address("10.1.2.3");
    const uses all(rules({"*"}, {"10.1.2.3"}));
    CHECK_FALSE(all.web->policy()->judge(read_host("api.shop.test"), private_place, 443).allowed);
    all.outer->use(of_sandbox({"api.shop.test"}, {"*.shop.test"}, {"10.1.2.3"}));
    CHECK(all.web->policy()->judge(read_host("api.shop.test"), private_place, 443).allowed);
}

TEST_CASE("a use within another follows its policy from one moment to the next, and ends with it")
{
    asio::io_context io;
    egress_guard guard(io.get_executor(), rules({"*"}, {}));
    auto holder = guard.issue("sbx_a", of_sandbox({"api.shop.test"}, {"*"}));
    egress_ticket web("web_scrape", rules({"*"}, {}), {});
    web.stay_within(holder->shared_from_this());
    CHECK(web.judge(read_host("api.shop.test"), 443).allowed);
    CHECK_FALSE(web.judge(read_host("www.shop.test"), 443).allowed);
    holder->use(of_sandbox({"api.shop.test", "www.shop.test"}, {"*"}));
    CHECK(web.judge(read_host("www.shop.test"), 443).allowed);
    CHECK(web.count(1));
    holder.reset();  // as a change of the network does
    CHECK(web.has_ended());
    CHECK(web.judge(read_host("api.shop.test"), 443).rule == "ended");
    CHECK_FALSE(web.count(1));
    CHECK(has(web.refusal_of_bytes(), "network"));
}

TEST_CASE("bytes and connections of a use within another count there")
{
    egress_limits few;
    few.bytes = 1000;
    few.connections = 2;
    uses all(rules({"*"}, {}), few);
    REQUIRE(all.outer->enter());
    REQUIRE(all.web->enter());
    CHECK_FALSE(all.web->enter());
    CHECK(all.outer->connections() == 2);
    all.web->leave();
    CHECK(all.outer->connections() == 1);
    CHECK(all.web->count(600));
    CHECK_FALSE(all.web->count(600));
    CHECK(all.outer->bytes() == 1200);
    CHECK(has(all.web->refusal_of_bytes(), "transferred"));
}

TEST_CASE("a use within another takes of the other's account, and tells its refusals there")
{
    const uses all(rules({"*"}, {}));
    all.outer->charge_to(std::make_shared<bounded_account>(100));
    CHECK(all.web->account() == all.outer->account());
    CHECK(all.web->count(100));
    CHECK_FALSE(all.web->count(1));
    CHECK(all.web->refusal_of_bytes() == "Cut: the hour is used up.");
    asio::io_context io;
    std::string sentence;
    try {
        run_coroutine(io, egress_require(all.web, read_host("www.shop.test"), 443));
    } catch (const egress_error& refused) {
        sentence = refused.what();
    }
    CHECK(has(sentence, "set_network"));
    CHECK(has(sentence, "code in a sandbox"));
    REQUIRE(all.outer->refusals().size() == 1);
    CHECK(all.outer->refusals().front().host == "www.shop.test");
}

TEST_CASE("where the other may ask its user, a use within it does")
{
    asio::io_context io;
    const auto asking = std::make_shared<egress_policy>(egress_policy::of_sandbox(
        read_entries({"api.shop.test"}, "network"), read_entries({"*"}, "SANDBOX_NETWORK_ALLOWED"), {}, true));
    const uses all(rules({"*"}, {}));
    all.outer->use(asking);
    std::vector<std::string> questions;
    egress_ticket* const outer = all.outer.get();
    all.outer->ask_by([&questions, outer](std::shared_ptr<const egress_ticket>, host who, std::uint16_t) {
        questions.push_back(who.name);
        outer->use(of_sandbox({"api.shop.test", who.name}, {"*"}));
        struct yes {
            static awaitable<policy_decision> say() { co_return policy_decision{true, "asked", {}, false}; }
        };
        return yes::say();
    });
    run_coroutine(io, egress_require(all.web, read_host("www.shop.test"), 443));
    run_coroutine(io, egress_require(all.web, read_host("www.shop.test"), 443));
    CHECK(questions == std::vector<std::string>{"www.shop.test"});
}
