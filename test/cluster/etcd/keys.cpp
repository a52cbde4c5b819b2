#include "etcd/etcd_keys.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

TEST_CASE("the end of a prefix is the least key behind it")
{
    CHECK(end_of_prefix("own/") == "own0");
    CHECK(end_of_prefix("a\xff") == "b");
    CHECK(end_of_prefix("\xff\xff") == std::string(1, '\0'));
    CHECK(end_of_prefix("") == std::string(1, '\0'));
}

TEST_CASE("a transaction reads the same whether its conditions hold or not")
{
    etcd_transaction wish;
    wish.if_absent("k").put("k", "v", 7).remove("other").read("k");
    const auto request = wish.request();
    CHECK(request.at("compare").as_array().size() == 1);
    CHECK(request.at("success").as_array().size() == 3);
    CHECK(request.at("failure").as_array().size() == 1);
    CHECK(request.at("failure").as_array()[0] == request.at("success").as_array()[2]);
    const auto& put = request.at("success").as_array()[0].at("request_put").as_object();
    CHECK(put.at("key").as_string() == "aw==");
    CHECK(put.at("lease").as_string() == "7");
}

TEST_CASE("numbers of the gateway are texts, and absent where they are 0")
{
    const auto answer = jsonrpc::read_object(R"({"header":{"revision":"41"},"succeeded":true,"responses":[
        {"response_put":{}},
        {"response_range":{"kvs":[{"key":"aw==","value":"dg==","mod_revision":"9223372036854775807"}]}},
        {"response_range":{}}]})");
    const auto outcome = outcome_in(answer);
    CHECK(outcome.done);
    CHECK(outcome.revision == 41);
    REQUIRE(outcome.read.size() == 2);
    REQUIRE(outcome.first() != nullptr);
    CHECK(outcome.first()->key == "k");
    CHECK(outcome.first()->value == "v");
    CHECK(outcome.first()->modified == 9223372036854775807);
    CHECK(outcome.first()->lease == 0);
    CHECK(outcome.first(1) == nullptr);
    CHECK(outcome.first(2) == nullptr);
}

TEST_CASE("answers of another form have nothing in them")
{
    for (const auto* text : {"{}", R"({"kvs":7})", R"({"kvs":[7,{"key":1},{"key":"!"},{"value":"dg=="}]})",
                             R"({"responses":[{"response_range":7},7]})"}) {
        INFO(text);
        const auto answer = jsonrpc::read_object(text);
        for (const auto& entry : entries_in(answer)) CHECK(entry.key.empty());
        CHECK(outcome_in(answer).first() == nullptr);
    }
}
