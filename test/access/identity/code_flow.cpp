#include "identity/code_flow.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"
#include "text/encodings.hpp"

#include <map>
#include <string>
#include <vector>

namespace cmcp {

namespace {

constexpr const char* issuer_name = "https://as.example.org";
constexpr const char* callback = "https://mcp.example.org/ui/callback";
constexpr const char* resource = "https://mcp.example.org";

std::map<std::string, std::string> parts_of(std::string_view query)
{
    std::map<std::string, std::string> parts;
    while (!query.empty()) {
        const auto part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), part.size() + 1));
        const auto equals = part.find('=');
        std::string value;
        for (std::size_t i = equals + 1; i < part.size(); ++i) {
            const bool encoded = part[i] == '%';
            value += encoded ? static_cast<char>(std::stoi(std::string(part.substr(i + 1, 2)), nullptr, 16)) : part[i];
            i += encoded ? 2 : 0;
        }
        parts[std::string(part.substr(0, equals))] = value;
    }
    return parts;
}

/// An authorization server in memory, and a flow to it.
struct flow_rig {
    explicit flow_rig(std::string scheme = "https") : scheme_(std::move(scheme))
    {
        config.auth_issuers = {issuer_name};
        config.auth_ui_client = "the ui";
        config.auth_ui_scopes = "mcp:read mcp:run";
    }

    awaitable<std::string> serve(document_request wanted)
    {
        requests.push_back(wanted);
        if (wanted.form.empty())
            co_return std::string(R"({"issuer":"https://as.example.org","authorization_endpoint":")") + scheme_ +
                R"(://as.example.org/go?x=1","token_endpoint":")" + scheme_ + R"(://as.example.org/token"})";
        if (!refusal.empty()) throw std::runtime_error(refusal);
        co_return answer;
    }

    code_flow::way begin() { return test::run_coroutine(io, flow.begin(issuer_name, here)); }
    std::string finish(code_flow::answer back) { return test::run_coroutine(io, flow.finish(std::move(back), here)); }

    asio::io_context io;
    settings config;
    code_flow::own_urls here{callback, resource};
    event::clock::time_point time = event::clock::now();
    std::string scheme_;
    std::string answer = R"({"access_token":"the token","token_type":"Bearer"})";
    std::string refusal;
    std::vector<document_request> requests;
    code_flow flow{config, [this](document_request wanted) { return serve(std::move(wanted)); },
                   [this] { return time; }};
};

}  // namespace

TEST_CASE("a person goes to the authorization server with all that the code is bound to")
{
    flow_rig rig;
    const auto way = rig.begin();
    REQUIRE(way.url.starts_with("https://as.example.org/go?x=1&"));
    auto query = parts_of(std::string_view(way.url).substr(way.url.find('?') + 1));
    CHECK(query["response_type"] == "code");
    CHECK(query["client_id"] == "the ui");
    CHECK(query["redirect_uri"] == callback);
    CHECK(query["resource"] == resource);
    CHECK(query["scope"] == "mcp:read mcp:run");
    CHECK(query["state"] == way.state);
    CHECK(query["code_challenge_method"] == "S256");

    CHECK(rig.finish({way.state, "the code", issuer_name}) == "the token");
    auto form = parts_of(rig.requests.back().form);
    CHECK(rig.requests.back().url == "https://as.example.org/token");
    CHECK(form["grant_type"] == "authorization_code");
    CHECK(form["code"] == "the code");
    CHECK(form["redirect_uri"] == callback);
    CHECK(form["resource"] == resource);
    CHECK(base64url_encode(sha256(form["code_verifier"])) == query["code_challenge"]);
    CHECK(rig.requests.back().headers.empty());
}

TEST_CASE("a code is taken with a state of this server alone, for the place where it was begun, for ten minutes")
{
    flow_rig rig, other;
    const auto way = rig.begin();
    CHECK(rig.begin().state != way.state);
    const auto refused = Catch::Contains("begin it again");
    for (const std::string& state : {std::string(), std::string("another"), std::string("."), other.begin().state,
                                     "1" + way.state, way.state + "0", way.state.substr(0, way.state.size() - 1)})
        CHECK_THROWS_WITH(rig.finish({state, "code", {}}), refused);
    rig.here.callback = "https://elsewhere.example.org/ui/callback";
    CHECK_THROWS_WITH(rig.finish({way.state, "code", {}}), refused);
    rig.here.callback = callback;
    rig.time += std::chrono::seconds(599);
    CHECK(rig.finish({way.state, "code", {}}) == "the token");
    rig.time += std::chrono::seconds(1);
    CHECK_THROWS_WITH(rig.finish({way.state, "code", {}}), refused);
}

TEST_CASE("the answer of another authorization server is refused before its code goes anywhere")
{
    flow_rig rig;
    const auto way = rig.begin();
    const auto before = rig.requests.size();
    CHECK_THROWS_WITH(rig.finish({way.state, "code", "https://evil.example.org"}), Catch::Contains("another"));
    CHECK(rig.requests.size() == before);
}

TEST_CASE("a client with a secret names itself by it")
{
    flow_rig rig;
    rig.config.auth_ui_secret = "hush";
    rig.finish({rig.begin().state, "code", {}});
    const auto& headers = rig.requests.back().headers;
    REQUIRE(headers.size() == 1);
    CHECK(headers[0].first == "Authorization");
    CHECK(headers[0].second == "Basic " + base64_encode("the%20ui:hush"));
}

TEST_CASE("an authorization server of https has no endpoint without it, and one that gives no token is told of")
{
    flow_rig open("http");
    CHECK_THROWS_WITH(open.begin(), Catch::Contains("https"));
    flow_rig rig;
    rig.answer = "{}";
    CHECK_THROWS_WITH(rig.finish({rig.begin().state, "code", {}}), Catch::Contains("no access token"));
    rig.refusal = "the server is down";
    CHECK_THROWS_WITH(rig.finish({rig.begin().state, "code", {}}), Catch::Contains("is down"));
}

TEST_CASE("logins that are begun and never end take nothing from others, and ask the authorization server once")
{
    flow_rig rig;
    const auto first = rig.begin();
    for (int i = 0; i != 2000; ++i) rig.begin();
    CHECK(rig.requests.size() == 1);
    CHECK(rig.finish({first.state, "code", {}}) == "the token");
    rig.time += std::chrono::minutes(10);
    rig.begin();
    CHECK(rig.requests.size() == 3);  // the token's, and the endpoints again
}

TEST_CASE("without a client id nobody can log in at an authorization server")
{
    flow_rig rig;
    CHECK(rig.flow.possible());
    rig.config.auth_ui_client.clear();
    CHECK_FALSE(rig.flow.possible());
    CHECK_FALSE(code_flow(rig.config, {}).possible());
}

}  // namespace cmcp
