#include "async/event.hpp"
#include "test/outbound/egress/egress_support.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// A web server and a guard whose ticket leaves every place to its user, who answers when a test lets him.
struct asking_stage {
    asking_stage()
    {
        ticket->ask_by([this](std::shared_ptr<const egress_ticket>, host who, std::uint16_t port) {
            targets.push_back(who.with_port(port));
            return decide();
        });
    }
    ~asking_stage()
    {
        ticket.reset();
        guard.stop();
        io.poll();
    }

    std::shared_ptr<const egress_policy> policy(const std::vector<std::string>& allow) const
    {
        auto entries = read_entries(allow, "test");
        return std::make_shared<const egress_policy>(
            egress_policy::of_sandbox(std::move(entries), {egress_entry()}, read_entries({"127.0.0.1"}, "test"), true));
    }

    awaitable<policy_decision> decide()
    {
        while (!answer) co_await answered.wait();
        co_return *answer;
    }

    void decide(policy_decision decision)
    {
        answer = std::move(decision);
        answered.notify();
    }

    std::string target() const { return "127.0.0.1:" + std::to_string(web.port()); }
    std::string get() const { return "GET http://" + target() + "/ HTTP/1.1\r\nHost: " + target() + "\r\n\r\n"; }

    proxy_client asking_client()
    {
        const auto before = targets.size();
        proxy_client client(io, guard, *ticket);
        client.write(get());
        io.restart();
        while (targets.size() == before) io.run_one();
        return client;
    }

    asio::io_context io;
    origin web{io};
    egress_guard guard{io.get_executor(), std::make_shared<egress_policy>()};
    std::shared_ptr<egress_ticket> ticket = guard.issue("test", policy({}));
    std::vector<std::string> targets;
    std::optional<policy_decision> answer;
    event answered;
};

}  // namespace

TEST_CASE("a connection waits until its user allows the place, and then goes on")
{
    asking_stage s;
    s.web.on("/", send(answer("body")));
    auto client = s.asking_client();
    CHECK(s.targets.back() == s.target());
    CHECK(s.web.requests.empty());
    s.ticket->use(s.policy({s.target()}));
    s.decide({true, "user", {}, false});
    CHECK(has(client.read_answer(), "\r\n\r\nbody"));
    CHECK(s.ticket->refusals().empty());
}

TEST_CASE("a connection that its user does not allow is refused with the reason")
{
    asking_stage s;
    auto client = s.asking_client();
    s.decide({false, "user", "the user did not allow it.", false});
    const auto reply = client.read_answer();
    CHECK(has(reply, "403 Forbidden"));
    CHECK(has(reply, "X-Egress-Rule: user"));
    CHECK(has(reply, "the user did not allow it."));
    CHECK(s.ticket->refusals().back().rule == "user");
    CHECK(s.web.requests.empty());
}

TEST_CASE("the policy decides in spite of a yes that it does not have")
{
    asking_stage s;
    auto client = s.asking_client();
    s.decide({true, "user", {}, false});
    CHECK(has(client.read_answer(), "403 Forbidden"));
    CHECK(s.web.requests.empty());
}

TEST_CASE("a question that is open when the guard stops leaves nothing behind")
{
    asking_stage s;
    auto client = s.asking_client();
    s.guard.stop();
    CHECK(client.read_rest().empty());
}
