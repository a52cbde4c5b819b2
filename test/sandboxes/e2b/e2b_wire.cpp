#include "e2b/interpreter.hpp"
#include "e2b/terms.hpp"
#include "jsonrpc/read_object.hpp"
#include "test/support/catch.hpp"

namespace cmcp {
namespace {

const std::string digits = "0123456789abcdef0123456789abcdef";

json::object result_line(const json::object& data)
{
    return jsonrpc::read_object(e2b::line_of("execute_result", json::object{{"data", data}}));
}

}  // namespace

TEST_CASE("an id of E2B's API and the handle of its sandbox are two forms of one name")
{
    for (const std::string node : {"n3", "node", "rack-7-left", "a-very-long-name-of-a-server-1234"}) {
        const auto handle = "sbx_" + node.substr(0, 32) + "_" + digits;
        const auto id = e2b::id_of(handle);
        CHECK(id.find('_') == std::string::npos);
        CHECK(e2b::handle_of(id) == handle);
    }
}

TEST_CASE("what is no id of a sandbox names none")
{
    for (const std::string text :
         {std::string(), digits, digits + "-", digits.substr(1) + "-n3", "sbx_n3_" + digits, digits + "-../../etc",
          digits + "-N3", digits + "_n3", "g" + digits.substr(1) + "-n3"})
        CHECK(e2b::handle_of(text).empty());
}

TEST_CASE("the terms of a sandbox come back from its record")
{
    e2b::terms all;
    all.made_from = "python";
    all.token = "secret";
    all.metadata = {{"a", "b"}};
    all.variables = {{"NAME", "value"}};
    all.internet = false;
    all.started = 1e9;
    all.resumes = true;
    all.secure = all.is_open = false;
    all.of = "sbx_n3_" + digits;
    all.name = "kept";
    all.recipe = {{"template", "t"}, {"chain", json::array{"a", "b"}}};
    sandbox_record record;
    CHECK_FALSE(e2b::terms_of(record));
    record.terms = e2b::text_of_terms(all);
    const auto back = e2b::terms_of(record);
    REQUIRE(back);
    CHECK(e2b::text_of_terms(*back) == record.terms);
    CHECK((back->started == all.started && back->resumes && !back->secure && back->is_template()));
}

TEST_CASE("a traffic token tells nothing of the access token, and differs from sandbox to sandbox")
{
    e2b::terms one, other;
    one.token = "one";
    other.token = "other";
    CHECK(e2b::traffic_token(one) != e2b::traffic_token(other));
    CHECK(e2b::traffic_token(one).find("one") == std::string::npos);
}

TEST_CASE("results have E2B's names, texts lose their quotation marks, and other forms are extras")
{
    const auto row = result_line({{"text/plain", "'it is'"}, {"image/png", "iVBO"}, {"text/x-own", "1"}});
    CHECK(text_of(row, "type") == "result");
    CHECK(flag_of(row, "is_main_result"));
    CHECK(text_of(row, "text") == "it is");
    CHECK(text_of(row, "png") == "iVBO");
    CHECK(text_of(object_of(row, "extra"), "text/x-own") == "1");
    for (const char* text : {"'", "'a", "\"a'", "42", ""})
        CHECK(text_of(result_line({{"text/plain", text}}), "text") == text);
}

TEST_CASE("an error's traceback is one text, and what E2B has no line for has none")
{
    const auto row = jsonrpc::read_object(
        e2b::line_of("error", {{"ename", "E"}, {"evalue", "v"}, {"traceback", json::array{"one", "two"}}}));
    CHECK(text_of(row, "traceback") == "one\ntwo");
    CHECK(e2b::line_of("clear_output", {{"wait", false}}).empty());
}

}  // namespace cmcp
