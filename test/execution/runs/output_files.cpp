#include "runs/output_collector.hpp"
#include "test/execution/runs/run_support.hpp"

#include <fcntl.h>

#include <fstream>
#include <sstream>

using namespace cmcp;
using namespace cmcp::test;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& path)
{
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::size_t entries(const fs::path& folder)
{
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("long output is kept whole in a file of the sandbox, in the order of its arrival")
{
    run_stage s;
    s.backend.prints = {{sandbox::stream::out, "first "},
                        {sandbox::stream::err, "second "},
                        {sandbox::stream::out, std::string(300'000, 'x')},
                        {sandbox::stream::err, " last"}};
    run_options options;
    options.max_output = 100;
    const run_outcome outcome = s.run(options);
    CHECK(outcome.out_truncated);
    CHECK_FALSE(outcome.err_truncated);
    CHECK(outcome.err == "second  last");
    CHECK(outcome.out.size() < 300);
    CHECK(outcome.out.find(outcome.output_path) != std::string::npos);
    CHECK(content(s.files / outcome.output_path) == "first second " + std::string(300'000, 'x') + " last");
}

TEST_CASE("short output leaves no file")
{
    run_stage s;
    s.backend.prints = {{sandbox::stream::out, "text"}};
    const run_outcome outcome = s.run();
    CHECK(outcome.out == "text");
    CHECK(outcome.output_path.empty());
    CHECK_FALSE(fs::exists(s.files / ".outputs"));
}

TEST_CASE("a link planted in the place of the outputs' folder is not followed")
{
    run_stage s;
    const temporary_folder elsewhere;
    fs::create_directory_symlink(elsewhere.path, s.files / ".outputs");
    s.backend.prints = {{sandbox::stream::out, std::string(1000, 'x')}};
    run_options options;
    options.max_output = 10;
    const run_outcome outcome = s.run(options);
    CHECK(outcome.out_truncated);
    CHECK(outcome.output_path.empty());
    CHECK(entries(elsewhere.path) == 0);
}

TEST_CASE("only the newest outputs are kept, and nothing else is removed")
{
    asio::io_context io;
    temporary_folder folder;
    blocking_pool pool(1);
    output_store store(pool, {.files = 3, .bytes = 1 << 20});
    fs::create_directory(folder.path / ".outputs");
    std::ofstream(folder.path / ".outputs" / "notes.txt") << "mine";
    std::string last;
    for (int i = 0; i < 6; ++i) {
        auto file = run_coroutine(io, store.create({"", folder.path}));
        REQUIRE(file);
        last = file->path();
    }
    CHECK(entries(folder.path / ".outputs") == 4);
    CHECK(fs::exists(folder.path / ".outputs" / "notes.txt"));
    CHECK(fs::exists(folder.path / last));
}

TEST_CASE("outputs that are too large together are removed, the oldest first")
{
    asio::io_context io;
    temporary_folder folder;
    blocking_pool pool(1);
    output_store store(pool, {.files = 10, .bytes = 1000});
    auto large = run_coroutine(io, store.create({"", folder.path}));
    CHECK(run_coroutine(io, store.append(large, std::string(2000, 'x'))));
    auto next = run_coroutine(io, store.create({"", folder.path}));
    CHECK_FALSE(fs::exists(folder.path / large->path()));
    CHECK(fs::exists(folder.path / next->path()));
}
