#include "sandboxes/package_programs.hpp"
#include "test/runs/run_support.hpp"

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
