#include "sandboxes/language_trials.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "test/program/tools/sandbox_support.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

const std::vector<language> four_languages{
    {"good", "", "sh", "main.sh", "exec $P $F", "echo ok"},
    {"broken", "", "sh", "main.sh", "echo 'no settings' >&2; exit 3", "echo ok"},
    {"second", "", "false sh", "main.sh", "case $P in */sh) exec $P $F;; *) exec $P;; esac", "echo ok"},
    {"absent", "", "no-such-program", "main.sh", "exec $P $F", "echo ok"},
};

sandbox::run_result lost_run()
{
    sandbox::run_result end;
    end.why = sandbox::cause::lost;
    return end;
}

/// Its first runs end with their launcher.
struct losing_backend final : sandbox::backend {
    explicit losing_backend(sandbox::backend& of) : real(of) {}

    awaitable<sandbox::run_result> run(sandbox::run_request request, sandbox::output_receiver& output) override
    {
        if (lost-- > 0) co_return lost_run();
        auto work = real.run(std::move(request), output);
        auto end = co_await std::move(work);
        co_return end;
    }
    awaitable<sandbox::layers> probe() override { return real.probe(); }
    std::string_view name() const override { return real.name(); }

    sandbox::backend& real;
    int lost = 0;
};

/// A stage that counts the runs of the trials.
struct trial_stage : sandbox_stage {
    std::unique_ptr<language_trials> trials(const std::vector<language>& table = four_languages)
    {
        const auto maker = [this](const language& of, const std::string& program, std::string source) {
            ++runs;
            return all->sandbox_runs->trial(of, program, std::move(source));
        };
        language_trials::parts parts{
            io.get_executor(), losing, *all->admission, *all->pool, folder.path / "languages.json", maker};
        return std::make_unique<language_trials>(std::move(parts), table);
    }
    void run(language_trials& of) { run_coroutine(io, of.run(), std::chrono::seconds(120)); }
    int runs = 0;
    losing_backend losing{backend};
};

}  // namespace

TEST_CASE("a language is listed once its program ran in the sandbox, and not because it is installed")
{
    trial_stage s;
    const auto trials = s.trials();
    std::vector<std::string> sentences;
    trials->on_change([&] { sentences.push_back(trials->sentence()); });
    CHECK(trials->sentence() == "Which languages run here is being tried.");
    s.run(*trials);
    CHECK(trials->working() == std::vector<std::string>{"good", "second"});
    CHECK(trials->sentence() == "Languages here: good, second.");
    CHECK(sentences.at(1) == "Languages here: good; others are being tried.");
    CHECK(sentences.back() == trials->sentence());
    CHECK(trials->program(four_languages[2]).ends_with("/sh"));
    CHECK(trials->program(four_languages[1]).ends_with("/sh"));
    CHECK(trials->program(four_languages[3]).empty());
}

TEST_CASE("a trial that ended with the launcher is made again")
{
    trial_stage s;
    s.losing.lost = 2;
    const auto trials = s.trials();
    s.run(*trials);
    CHECK(s.runs == 6);
    CHECK(trials->sentence() == "Languages here: good, second.");
}

TEST_CASE("a later start tries nothing again that is as it was")
{
    trial_stage s;
    s.run(*s.trials());
    CHECK(s.runs == 4);
    const auto again = s.trials();
    s.run(*again);
    CHECK(s.runs == 4);
    CHECK(again->complete());
    CHECK(again->sentence() == "Languages here: good, second.");
    auto changed = four_languages;
    changed[1].command = "exec $P $F";
    const auto mended = s.trials(changed);
    s.run(*mended);
    CHECK(s.runs == 5);
    CHECK(mended->sentence() == "Languages here: good, broken, second.");
    std::ofstream(s.folder.path / "languages.json") << "{\"good\": 7, \"broken\": {";
    s.run(*s.trials());
    CHECK(s.runs == 9);
}

TEST_CASE("execute_code and initialize_sandbox list what was tried; Java and Pascal run where they are installed")
{
    sandbox_stage s;
    const auto& tool = *s.registry.find("execute_code");
    CHECK(tool.definition().description.find("being tried") != std::string::npos);
    run_coroutine(s.io, s.all->languages->run(), std::chrono::seconds(600));
    s.tool("initialize_sandbox");
    const auto listed = strings(s.last.structured, "languages");
    CHECK(std::find(listed.begin(), listed.end(), "python") != listed.end());
    CHECK(std::find(listed.begin(), listed.end(), "bash") != listed.end());
    CHECK(tool.definition().description.ends_with(s.all->languages->sentence()));
    for (const char* name : {"java", "pascal"}) {
        INFO(name);
        const auto runs = std::find(listed.begin(), listed.end(), name) != listed.end();
        CHECK(runs == !installed_program(*find_language(name)).empty());  // these two need their settings in /etc
    }
}

TEST_CASE("what a language needs to run is told with the languages that run, also after another start")
{
    trial_stage s;
    const std::vector<language> table{
        {"good", "", "sh", "main.sh", "exec $P $F", "echo ok"},
        {"picky", "", "sh", "main.sh", "echo 'Picky needs version 2; this machine has 1.' >&2; exit 1", "echo ok"},
    };
    for (int starts = 0; starts < 2; ++starts) {
        const auto trials = s.trials(table);
        s.run(*trials);
        CHECK(trials->sentence() == "Languages here: good. Picky needs version 2; this machine has 1.");
    }
    CHECK(s.runs == 2);
}
