#include "http/http_refusal.hpp"
#include "jupyter/kernel_register.hpp"
#include "test/support/catch.hpp"

#include <string>

using namespace cmcp;
using namespace cmcp::jupyter;

namespace {

std::string problem_of(const json::object& wish)
{
    try {
        kernel_environment(wish);
    } catch (const http_refusal& refused) {
        CHECK(refused.status == 400);
        return refused.what();
    }
    return {};
}

json::object numbered(std::size_t count, const std::string& value)
{
    json::object all;
    for (std::size_t number = 0; number < count; ++number) all["A" + std::to_string(number)] = value;
    return {{"env", all}};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a client's variables are taken as they are")
{
    const json::object env{{"KERNEL_USERNAME", "zo\xc3\xab"}, {"EMPTY", ""}, {"with space", "a=b\n"}};
    CHECK(kernel_environment({{"env", env}}) == env);
    CHECK(kernel_environment({{"name", "python3"}}).empty());
    CHECK(kernel_environment({{"env", nullptr}}).empty());
    CHECK(kernel_environment(numbered(100, "x")).size() == 100);
}

TEST_CASE("variables that no process can have, or that are the server's, are refused by name")
{
    CHECK(has(problem_of({{"env", json::array{}}}), "env must be an object"));
    CHECK(has(problem_of({{"env", {{"A=B", "x"}}}}), "A=B"));
    CHECK(has(problem_of({{"env", {{"", "x"}}}}), "no variable can have"));
    CHECK(has(problem_of({{"env", {{"COUNT", 1}}}}), "a text for COUNT"));
    CHECK(has(problem_of({{"env", {{"A", std::string("a\0b", 3)}}}}), "a text for A"));
    CHECK(has(problem_of({{"env", {{"CONTAINER_MCP_TOOLS", "x"}}}}), "CONTAINER_MCP_TOOLS"));
    CHECK(has(problem_of(numbered(101, "x")), "101 variables"));
    CHECK(has(problem_of(numbered(2, std::string(9000, 'x'))), "18004 bytes"));
}
