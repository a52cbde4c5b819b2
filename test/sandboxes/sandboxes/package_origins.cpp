#include "packages/package_programs.hpp"
#include "test/execution/runs/run_support.hpp"

using namespace cmcp;

namespace {

package_origin origin_from(std::string answer, int exit_code = 0)
{
    asio::io_context io;
    test::scripted_backend backend;
    backend.prints = {{sandbox::stream::out, std::move(answer)}};
    backend.result.why = sandbox::cause::exited;
    backend.result.exit_code = exit_code;
    auto asking = default_package_origin(backend, {}, package_kind::pip);
    return test::run_coroutine(io, std::move(asking));
}

}  // namespace

TEST_CASE("the index that pip knows is taken as it says")
{
    const auto origin = origin_from(R"({"index": "https://index.example/simple", "hosts": ["files.example"]})");
    CHECK(origin.index == "https://index.example/simple");
    CHECK(origin.hosts == std::vector<std::string>{"files.example"});
}

TEST_CASE("an index is unknown where pip is missing, fails or says something else")
{
    CHECK(origin_from("", 1).index.empty());
    CHECK(origin_from(R"({"index": "https://index.example/simple", "hosts": []})", 1).index.empty());
    CHECK(origin_from("Traceback").index.empty());
    CHECK(origin_from("[]").index.empty());
    CHECK(origin_from(R"({"index": 3})").index.empty());
    CHECK(origin_from(R"({"index": "https://index.example/", "hosts": [1]})").index.empty());
}

namespace {

std::string problem(package_kind kind, std::string printed)
{
    run_outcome run;
    run.end.why = sandbox::cause::exited;
    run.end.exit_code = 1;
    run.err = std::move(printed);
    return package_problem(run, kind, {}, "https://index.example/", "300 s");
}

}  // namespace

TEST_CASE("a package that the registry does not have is named, by old and new words of npm")
{
    for (const char* words : {"npm ERR! 404  'no-pad@*' is not in this registry.",
                              "npm error 404  The requested resource 'no-pad@*' could not be found or you do not have"})
        CHECK(problem(package_kind::npm, words) ==
              "There is no package no-pad@* at https://index.example/. Check the name.");
}

TEST_CASE("a package that the sandbox's own package.json needs and that was not fetched is named")
{
    const std::string said =
        problem(package_kind::npm,
                "npm error code ENOTCACHED\nnpm error request to http://r.example/@own%2fchalk failed: cache mode is "
                "'only-if-cached' but no cached response is available.");
    CHECK(said ==
          "The packages of the sandbox need @own/chalk, too, in a version that is not there: name it in "
          "package_names as well.");
}

TEST_CASE("the output of a failed installation is its last lines, without the frames of tracebacks")
{
    CHECK(telling_end("Collecting one\nERROR: No matching distribution found for one\n") ==
          "Collecting one\nERROR: No matching distribution found for one\n");
    const std::string traceback =
        "ERROR: Exception:\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\n\n"
        "  File \"b.py\", line 2, in g\n    raise KeyError\nKeyError: 'x'\nafter it\n";
    CHECK(telling_end(traceback) == "[5 lines are left out]\nERROR: Exception:\nKeyError: 'x'\nafter it\n");
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "line " + std::to_string(i) + std::string(1000, 'x') + "\n";
    const auto last = telling_end(many);
    CHECK(last.starts_with("[970 lines are left out]\nline 970"));
    CHECK(last.size() < 10'000);
    CHECK(last.find("line 999") != std::string::npos);
    CHECK(telling_end("").empty());
    CHECK(telling_end("Traceback (most recent call last):\n  File \"a.py\"") == "[2 lines are left out]\n");
}
