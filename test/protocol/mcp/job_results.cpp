#include "jobs/job_register.hpp"
#include "jsonrpc/write_json.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"
#include "test/support/temporary_folder.hpp"

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("the result of a job is kept, a large one a little after its end")
{
    asio::io_context io;
    blocking_pool pool;
    const temporary_folder folder;
    const record_folder records(folder.path / "records");
    job_register jobs(io.get_executor(), records, pool, handle_maker("n1"));
    for (const std::size_t size : {10, 300'000}) {
        job_record record;
        record.owner = "alice";
        record.keep = 3600;
        const auto added = jobs.add(std::move(record), std::make_shared<canceller>());
        const auto id = added->record().id;
        const json::object result{{"text", std::string(size, 'x')}};
        jobs.finish(*added, result);
        while (!added->ended()) run_coroutine(io, added->wait());
        CHECK_FALSE(jobs.running(id));
        const auto stored = jobs.find(id);
        REQUIRE(stored);
        CHECK(stored->state == "finished");
        CHECK(stored->result == jsonrpc::write_json(result));
        CHECK(run_coroutine(io, jobs.read(stored->owner, stored->result)) == result);
    }
    jobs.stop();
    CHECK(run_coroutine(io, jobs.wait_idle(std::chrono::seconds(10))));
}

TEST_CASE("a job whose large result cannot be kept stays in memory")
{
    asio::io_context io;
    blocking_pool pool;
    const temporary_folder folder;
    const record_folder records(folder.path / "records");
    job_register jobs(io.get_executor(), records, pool, handle_maker("n1"));
    const auto added = jobs.add(job_record(), std::make_shared<canceller>());
    database(records.database()).execute("DROP TABLE jobs");
    jobs.finish(*added, {{"text", std::string(300'000, 'x')}});
    while (!added->ended()) run_coroutine(io, added->wait());
    const auto stored = jobs.running(added->record().id);
    REQUIRE(stored);
    CHECK(stored->record().result.size() > 300'000);
    jobs.stop();
}

TEST_CASE("a view of a job answers once for what is printed in quick succession, or waits for the end")
{
    asio::io_context io;
    blocking_pool pool;
    const temporary_folder folder;
    const record_folder records(folder.path / "records");
    job_register jobs(io.get_executor(), records, pool, handle_maker("n1"));
    const auto added = jobs.add(job_record(), std::make_shared<canceller>());
    const auto seen = [&](std::uint64_t cursor, job_patience patience, std::size_t most = 1 << 20) {
        auto view = run_coroutine(io, jobs.view(added->record(), cursor, patience, most), std::chrono::seconds(60));
        return view.output + "; " + view.record.state + (view.more ? "; more" : "");
    };
    struct printer {
        static awaitable<> lines(job_register& jobs, std::shared_ptr<job> to)
        {
            for (int i = 1; i <= 3; ++i) {
                std::string line = std::to_string(i) + "\n";
                co_await jobs.print(to, std::move(line));
            }
        }
        static awaitable<> rest_and_end(job_register& jobs, std::shared_ptr<job> to)
        {
            co_await lines(jobs, to);
            jobs.finish(*to, {{"success", true}});
        }
    };
    constexpr std::chrono::minutes long_time(1);
    jobs.run("print", printer::lines(jobs, added));
    CHECK(seen(0, {long_time}) == "1\n2\n3\n; running");
    CHECK(seen(2, {}) == "2\n3\n; running");
    CHECK(seen(0, {long_time, true}, 4) == "1\n2\n; running; more");
    jobs.run("print", printer::rest_and_end(jobs, added));
    CHECK(seen(6, {long_time, true}) == "1\n2\n3\n; finished");
    CHECK(seen(12, {long_time, true}) == "; finished");
    jobs.stop();
    CHECK(run_coroutine(io, jobs.wait_idle(std::chrono::seconds(10))));
}
