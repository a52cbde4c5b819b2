#include "shells/program_streams.hpp"

#include "posix/bytes.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/io_context.hpp>

#include <csignal>
#include <memory>
#include <string>

using namespace cmcp;
using kind = program_streams::message::kind;

namespace {

struct program_ends {
    program_ends()
    {
        std::signal(SIGPIPE, SIG_IGN);  // as the server does
        auto [reading, writing] = make_pipe();
        input = std::move(reading);
        streams = std::make_shared<program_streams>(io.get_executor(), std::move(writing));
    }

    program_streams::message next() { return test::run_coroutine(io, streams->next()); }
    void print(sandbox::stream to, std::string_view bytes) { test::run_coroutine(io, streams->receive(to, bytes)); }

    asio::io_context io;
    unique_fd input;
    std::shared_ptr<program_streams> streams;
};

}  // namespace

TEST_CASE("output of a program comes in its order, and its end behind all of it")
{
    program_ends program;
    program.print(sandbox::stream::out, "one");
    program.print(sandbox::stream::err, "two");
    program.streams->finish("It could not go on.");
    const auto first = program.next(), second = program.next(), problem = program.next(), end = program.next();
    CHECK((first.is == kind::output && first.bytes == "one"));
    CHECK((second.is == kind::errors && second.bytes == "two"));
    CHECK((problem.is == kind::errors && problem.bytes == "It could not go on.\n"));
    CHECK(end.is == kind::end);
}

TEST_CASE("a program waits while its client does not read")
{
    program_ends program;
    const std::string much(program_streams::window, 'x');
    program.print(sandbox::stream::out, much);
    CHECK_THROWS_AS(test::run_coroutine(program.io, program.streams->receive(sandbox::stream::out, "more"),
                                        std::chrono::seconds(0)),
                    deadline_exceeded);
    CHECK(program.next().bytes.size() == much.size());
    program.print(sandbox::stream::out, "more");
    CHECK(program.next().bytes == "more");
}

TEST_CASE("the client hears how much of its input the program has taken, and may send no more ahead")
{
    program_ends program;
    CHECK(program.streams->feed("some input"));
    CHECK_FALSE(program.streams->feed(std::string(program_streams::window, 'x')));
    program.streams->end_input();
    test::run_coroutine(program.io, program.streams->write_input());
    CHECK(read_all(program.input.get()) == "some input");
    const auto news = program.next();
    CHECK((news.is == kind::taken && news.taken == 10));
    CHECK(program.streams->feed(std::string(program_streams::window, 'x')));
}

TEST_CASE("input of a program that reads no more is dropped, and nobody waits for it")
{
    program_ends program;
    program.input.reset();
    CHECK(program.streams->feed("nobody reads this"));
    test::run_coroutine(program.io, program.streams->write_input());
    CHECK(program.streams->feed("nor this"));
    program.streams->finish({});
    CHECK(program.next().is == kind::end);
}
