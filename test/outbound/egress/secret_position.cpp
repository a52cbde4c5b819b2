#include "egress/held_secret.hpp"
#include "test/support/catch.hpp"
#include "text/encodings.hpp"

using namespace cmcp;

namespace {

namespace http = boost::beast::http;

const std::string placeholder = "cmcp-secret-0011", value = "real&value 1";

http::request_header<> request_with(const std::string& target, std::vector<std::pair<std::string, std::string>> fields)
{
    http::request_header<> request;
    request.method(http::verb::get);
    request.target(target);
    for (const auto& [name, content] : fields) request.insert(name, content);
    return request;
}

std::string field_after(const std::string& position, const std::string& name, const std::string& content)
{
    auto request = request_with("/", {{name, content}});
    const bool put = secret_position::read(position).put(request, placeholder, value);
    CHECK(put == (std::string(request[name]) != content));
    CHECK(request.target() == "/");
    return std::string(request[name]);
}

std::string target_after(const std::string& target)
{
    auto request = request_with(target, {{"X-Key", placeholder}});
    secret_position::read("query key={}").put(request, placeholder, value);
    CHECK(request["X-Key"] == placeholder);
    return std::string(request.target());
}

}  // namespace

TEST_CASE("a secret is put into its header alone, and only where its whole form stands there")
{
    const std::string position = "header Authorization: Bearer {}";
    CHECK(field_after(position, "Authorization", "Bearer " + placeholder) == "Bearer " + value);
    CHECK(field_after(position, "authorization", "bearer " + placeholder) == "Bearer " + value);
    for (const auto& other : {"Token " + placeholder, "Bearer " + placeholder + "x", "Bearer x" + placeholder,
                              placeholder, "Bearer  " + placeholder, "Bearer " + placeholder + " " + placeholder})
        CHECK(field_after(position, "Authorization", other) == other);
    CHECK(field_after(position, "X-Other", "Bearer " + placeholder) == "Bearer " + placeholder);
    CHECK(field_after("header X-Api-Key: {}", "X-Api-Key", placeholder) == value);
    CHECK(field_after("header Cookie: session={}; safe", "Cookie", "session=" + placeholder + "; safe") ==
          "session=" + value + "; safe");
}

TEST_CASE("each of several headers of the name is judged by itself")
{
    auto request = request_with("/", {{"X-Key", "other"}, {"X-Key", placeholder}});
    CHECK(secret_position::read("header X-Key: {}").put(request, placeholder, value));
    std::vector<std::string> values;
    const auto [first, last] = request.equal_range("X-Key");
    for (auto each = first; each != last; ++each) values.emplace_back(each->value());
    CHECK(values == std::vector<std::string>{"other", value});
}

TEST_CASE("a secret is put into its part of the query, percent-encoded")
{
    CHECK(target_after("/a?key=" + placeholder) == "/a?key=real%26value%201");
    CHECK(target_after("/a?x=1&key=" + placeholder + "&y=2") == "/a?x=1&key=real%26value%201&y=2");
    for (const auto& other : {"/a?monkey=" + placeholder, "/a?key=" + placeholder + "x", "/key=" + placeholder,
                              "/" + placeholder + "?key=", "/a?Key=" + placeholder, "/a#?key=" + placeholder})
        CHECK(target_after(other) == other);
}

TEST_CASE("a secret is the password of a basic login of its user alone")
{
    const auto login = [](const std::string& text) { return "Basic " + base64_encode(text); };
    CHECK(field_after("basic ann", "Authorization", login("ann:" + placeholder)) == login("ann:" + value));
    for (const auto& other : {"bob:" + placeholder, "ann:" + placeholder + "x", std::string("ann:x"), placeholder})
        CHECK(field_after("basic ann", "Authorization", login(other)) == login(other));
    CHECK(field_after("basic ann", "Authorization", "Basic ***") == "Basic ***");
}

TEST_CASE("places read as they were written, and others are refused")
{
    for (const auto* text : {"header Authorization: Bearer {}", "header X-Key: {}", "header Cookie: a={}; b",
                             "query api_key={}", "basic ann"})
        CHECK(secret_position::read(text).text() == text);
    for (const auto* text : {"header Authorization", "header Host: {}", "header Content-Length: {}", "header a b: {}",
                             "header X: {}{}", "header Sec-WebSocket-Key: {}", "header X: \r\n{}", "query {}",
                             "query =x{}", "query a&b={}", "basic a:b", "basic ", "body {}", ""})
        CHECK_THROWS_AS(secret_position::read(text), std::invalid_argument);
}

TEST_CASE("hosts of a secret are names, for the port of HTTPS where none is written")
{
    held_secret secret{"K", read_secret_hosts("api.test,*.example.org,b.test:8443"), {}, "v", "p"};
    const auto is_for = [&](const std::string& name, std::uint16_t port) {
        return secret.is_for(read_host(name), port);
    };
    CHECK(is_for("api.test", 443));
    CHECK_FALSE(is_for("api.test", 8443));
    CHECK(secret.concerns(read_host("api.test")));
    CHECK(is_for("x.example.org", 443));
    CHECK_FALSE(is_for("example.org", 443));
    CHECK(is_for("b.test", 8443));
    CHECK_FALSE(is_for("b.test", 443));
    CHECK_FALSE(secret.concerns(read_host("x.api.test")));
    for (const auto* bad : {"", "*", "10.0.0.1", "10.0.0.0/8", "!api.test", "*.com", "[::1]", "a b", "api.test:0"})
        CHECK_THROWS_AS(read_secret_hosts(bad), std::invalid_argument);
}
