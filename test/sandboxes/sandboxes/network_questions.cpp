#include "networks/network_questions.hpp"

#include "async/task_group.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "mcp/silent_io.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

using namespace cmcp;

namespace {

/// A call whose client answers when a test says so.
class asked_io final : public silent_io {
public:
    bool can_ask(std::string_view, const json::object&) const override { return able; }

    awaitable<std::optional<json::object>> ask_meanwhile(std::string, std::string, json::object params,
                                                         std::chrono::milliseconds limit) override
    {
        messages.emplace_back(params.at("message").as_string());
        raised.notify();
        if (broken) throw rpc_error(rpc_code::server_error, "too many tasks");
        const auto until = event::clock::now() + limit;
        bool in_time = true;
        while (answers.empty() && in_time) in_time = co_await answered.wait(until);
        if (answers.empty()) co_return std::nullopt;
        auto answer = std::move(answers.front());
        answers.erase(answers.begin());
        co_return answer;
    }

    void answer(json::object with)
    {
        answers.push_back(std::move(with));
        answered.notify();
    }
    void choose(std::string_view choice)
    {
        answer({{"action", "accept"}, {"content", json::object{{"answer", choice}}}});
    }

    bool able = true;
    bool broken = false;
    std::vector<std::string> messages;
    event raised;

private:
    std::vector<json::object> answers;
    event answered;
};

awaitable<bool> until_told(std::shared_ptr<event> end)
{
    co_await end->wait();
    co_return true;
}

/// Questions, with what the sandbox's record was given, and runs in it.
struct questions_rig {
    struct running {
        asked_io io;
        caller who;
        std::shared_ptr<event> end = std::make_shared<event>();
    };

    ~questions_rig()
    {
        tasks.cancel_all();
        test::run_coroutine(io, tasks.wait_idle(std::chrono::seconds(10)));
    }

    static awaitable<> run(network_questions& questions, running& of)
    {
        network_caller asking(questions, "sbx_1", "box", of.who, of.io);
        auto work = until_told(of.end);
        co_await with_questions(asking, std::move(work));
    }

    running& begin(bool able = true)
    {
        auto& one = *runs.emplace_back(std::make_unique<running>());
        one.io.able = able;
        tasks.spawn("run", run(questions, one));
        io.restart();
        io.poll();
        return one;
    }

    void end(running& one)
    {
        one.end->notify();
        settle();
    }

    static awaitable<> take(network_questions& questions, std::shared_ptr<const egress_ticket> ticket, std::string name,
                            std::vector<policy_decision>& into)
    {
        host who = read_host(name);
        auto verdict = co_await questions.ask("sbx_1", std::move(ticket), std::move(who), 443);
        into.push_back(std::move(verdict));
    }

    void connect(const std::string& name = "a.test")
    {
        tasks.spawn("connection", take(questions, ticket, name, verdicts));
        settle();
    }

    void settle()
    {
        io.restart();
        io.poll();
    }

    std::string rule() const { return verdicts.empty() ? "none yet" : verdicts.back().rule; }

    asio::io_context io;
    std::chrono::milliseconds patience{3'600'000};
    std::vector<std::string> stored;
    bool keeps = true;
    int changes = 0;
    network_questions questions{patience,
                                [this](const std::string&, const std::string& target) {
                                    if (keeps) stored.push_back(target);
                                    return keeps;
                                },
                                [this](const std::string&) { ++changes; }};
    std::shared_ptr<egress_ticket> ticket =
        std::make_shared<egress_ticket>("sbx_1", std::make_shared<const egress_policy>(), egress_limits());
    std::vector<policy_decision> verdicts;
    std::vector<std::unique_ptr<running>> runs;
    task_group tasks{io.get_executor()};
};

}  // namespace

TEST_CASE("a place that the user allows for the sandbox is kept, and the result says so")
{
    questions_rig rig;
    auto& one = rig.begin();
    rig.connect();
    CHECK(one.io.messages == std::vector<std::string>{"Allow the sandbox \"box\" to connect to a.test:443?"});
    CHECK(rig.verdicts.empty());
    one.io.choose("allow for this sandbox");
    rig.settle();
    REQUIRE(rig.verdicts.size() == 1);
    CHECK(rig.verdicts[0].allowed);
    CHECK(rig.stored == std::vector<std::string>{"a.test:443"});
    CHECK(rig.questions.allowed_for_runs("sbx_1").empty());
    CHECK(rig.questions.take_notes("sbx_1") ==
          std::vector<std::string>{"The user allowed a.test:443 for this sandbox."});
    CHECK(rig.questions.take_notes("sbx_1").empty());
}

TEST_CASE("a place that the user allows for the run is allowed until its end")
{
    questions_rig rig;
    auto& one = rig.begin();
    rig.connect();
    one.io.choose("allow for this run");
    rig.settle();
    CHECK(rig.stored.empty());
    CHECK(rig.questions.allowed_for_runs("sbx_1") == std::vector<std::string>{"a.test:443"});
    const int before = rig.changes;
    rig.end(one);
    CHECK(rig.questions.allowed_for_runs("sbx_1").empty());
    CHECK(rig.changes == before + 1);
}

TEST_CASE("a place that the record cannot take is allowed for the run")
{
    questions_rig rig;
    rig.keeps = false;
    auto& one = rig.begin();
    rig.connect();
    one.io.choose("allow for this sandbox");
    rig.settle();
    CHECK(rig.questions.allowed_for_runs("sbx_1") == std::vector<std::string>{"a.test:443"});
    CHECK(rig.questions.take_notes("sbx_1") == std::vector<std::string>{"The user allowed a.test:443 for this run."});
}

TEST_CASE("connections to one place are one question, those to others wait for their turn")
{
    questions_rig rig;
    auto& one = rig.begin();
    rig.connect();
    rig.connect();
    rig.connect("b.test");
    CHECK(one.io.messages.size() == 1);
    one.io.choose("allow for this run");
    rig.settle();
    CHECK(rig.verdicts.size() == 2);
    CHECK(one.io.messages.size() == 2);
    one.io.choose("refuse");
    rig.settle();
    CHECK(rig.rule() == "user");
}

TEST_CASE("a no is remembered over runs until the sandbox has another cell or network")
{
    questions_rig rig;
    auto* one = &rig.begin();
    rig.connect();
    one->io.answer({{"action", "decline"}});
    rig.settle();
    CHECK(rig.rule() == "user");
    rig.end(*one);
    one = &rig.begin();
    rig.connect();
    CHECK(rig.verdicts.size() == 2);
    CHECK(one->io.messages.empty());
    rig.questions.forget_refusals("sbx_1");
    rig.connect();
    CHECK(one->io.messages.size() == 1);
}

TEST_CASE("what is not answered is refused for the run, with all that waits")
{
    questions_rig rig;
    rig.patience = std::chrono::milliseconds(1);
    auto* one = &rig.begin();
    rig.connect();
    rig.connect("b.test");
    rig.io.restart();
    while (rig.verdicts.size() < 2) rig.io.run_one();
    CHECK(one->io.messages.size() == 1);
    CHECK(rig.rule() == "no answer");
    CHECK(rig.verdicts.back().sentence.find("set_network") != std::string::npos);
    rig.connect();
    CHECK(rig.verdicts.size() == 3);
    rig.patience = std::chrono::hours(1);
    rig.end(*one);
    one = &rig.begin();
    rig.connect();
    CHECK(one->io.messages.size() == 1);
}

TEST_CASE("a question that is dismissed, or accepted without an answer, is a no for the run and for this place")
{
    questions_rig rig;
    auto& one = rig.begin();
    for (const json::object& answer : {json::object{{"action", "cancel"}}, json::object{{"action", "accept"}}}) {
        rig.connect(rig.verdicts.empty() ? "a.test" : "b.test");
        one.io.answer(answer);
        rig.settle();
        CHECK(rig.rule() == "no answer");
    }
    rig.connect();
    CHECK(one.io.messages.size() == 2);
}

TEST_CASE("a question that is open when its run ends is refused")
{
    questions_rig rig;
    auto& one = rig.begin();
    rig.connect();
    rig.end(one);
    CHECK(rig.rule() == "no answer");
    CHECK(rig.verdicts.back().sentence.find("has ended") != std::string::npos);
}

TEST_CASE("where nobody can be asked, the refusal says why")
{
    questions_rig rig;
    const auto sentence = [&] {
        rig.connect();
        CHECK(rig.rule() == "nobody to ask");
        return rig.verdicts.back().sentence;
    };
    CHECK(sentence().find("no call runs") != std::string::npos);
    rig.begin(false);
    CHECK(sentence().find("takes no questions") != std::string::npos);
    rig.begin().io.broken = true;
    rig.connect();
    CHECK(rig.verdicts.back().sentence.find("too many tasks") != std::string::npos);
}

TEST_CASE("a caller without the scope of the web is not asked")
{
    questions_rig rig;
    rig.runs.push_back(std::make_unique<questions_rig::running>());
    auto& one = *rig.runs.back();
    one.who.scopes = scope_set(scope::run) | scope::sandboxes;
    rig.tasks.spawn("run", questions_rig::run(rig.questions, one));
    rig.settle();
    rig.connect();
    CHECK(rig.rule() == "nobody to ask");
    CHECK(rig.verdicts.back().sentence.find("mcp:web") != std::string::npos);
    CHECK(one.io.messages.empty());
}

TEST_CASE("the latest call of the sandbox that can is asked")
{
    questions_rig rig;
    auto& first = rig.begin();
    auto& second = rig.begin();
    rig.begin(false);
    rig.connect();
    CHECK(first.io.messages.empty());
    CHECK(second.io.messages.size() == 1);
}

TEST_CASE("a run asks so many questions and no more")
{
    questions_rig rig;
    auto& one = rig.begin();
    for (int i = 0; i < 16; ++i) rig.connect("a" + std::to_string(i) + ".test");
    rig.connect("b.test");
    CHECK(rig.verdicts.size() == 1);
    CHECK(rig.verdicts.back().sentence.find("too many questions") != std::string::npos);
    for (int i = 0; i < 16; ++i) one.io.choose("refuse");
    rig.settle();
    for (int i = 16; i < 50; ++i) {
        rig.connect("a" + std::to_string(i) + ".test");
        one.io.choose("refuse");
        rig.settle();
    }
    CHECK(one.io.messages.size() == 50);
    rig.connect("b.test");
    CHECK(rig.verdicts.back().sentence.find("50 questions") != std::string::npos);
}

TEST_CASE("an answer that comes after the sandbox got another network changes nothing")
{
    questions_rig rig;
    auto& one = rig.begin();
    rig.connect();
    rig.questions.renew("sbx_1");
    rig.settle();
    CHECK(rig.rule() == "no answer");
    one.io.choose("allow for this sandbox");
    rig.settle();
    CHECK(rig.stored.empty());
}
