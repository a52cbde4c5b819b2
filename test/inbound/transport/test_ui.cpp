#include "config/settings.hpp"
#include "http/websocket.hpp"
#include "identity/identity_store.hpp"
#include "identity/key_order.hpp"
#include "secrets/rest_secrets.hpp"
#include "test/inbound/transport/http_fixture.hpp"
#include "test/inbound/transport/idle_administration.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"
#include "text/encodings.hpp"

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

using namespace cmcp;
using namespace cmcp::test;

namespace {

awaitable<> find_no_shell(exchange& x, websocket_register& sockets)
{
    auto refusal = error_reply(404, "There is no such sandbox.", "NotFound");
    return websocket::turn_away(x, sockets, std::move(refusal), "cmcp.shell");
}

void add_shells(router& routes, const route_means& by)
{
    routes.add({.methods = {"GET"},
                .path = "/sandbox/shell",
                .serve = [&sockets = by.sockets](exchange& x) { return find_no_shell(x, sockets); },
                .needs = scope::run,
                .by_browser = true});
}

awaitable<std::string> unreachable(document_request)
{
    throw std::runtime_error("Nobody answers there.");
    co_return std::string();
}

/// A server that knows the tokens of ann and of root, who administers it, and API keys.
struct stage {
    explicit stage(void (*change)(settings&) = nullptr) : config(config_of(change)), server(config, {}, to()) {}

    settings config_of(void (*change)(settings&)) const
    {
        auto wanted = http_fixture::quick_settings();
        wanted.auth_tokens = {{"root", "root-secret"}, {"ann", "ann-secret"}};
        wanted.auth_admins = {"root"};
        wanted.sandbox_root = root.path;
        if (change != nullptr) change(wanted);
        return wanted;
    }
    http_parts to()
    {
        http_parts all;
        all.administration = &idle;
        all.routes = add_shells;
        all.admin_routes = [this](router& routes, const admin_pages_ptr&) { add_secret_routes(routes, config, idle); };
        all.issuers = unreachable;
        return all;
    }

    temporary_folder root;
    idle_administration idle;
    settings config;
    http_fixture server;
};

std::string del(std::string_view path, std::string_view extra)
{
    return "DELETE " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(extra) + "\r\n";
}

/// A browser: it keeps one cookie, and what /ui/session says.
struct browser {
    explicit browser(stage& at) : at_(at) {}

    raw_response send(const std::string& bytes) { return raw_client(at_.server.port()).request(bytes); }
    raw_response log_in(std::string_view token)
    {
        auto answer = send(post("/ui/login", R"({"token":")" + std::string(token) + "\"}"));
        const auto line = answer.field("set-cookie");
        if (!line.empty()) cookie = "Cookie: " + line.substr(0, line.find(';')) + "\r\n";
        if (answer.status == 200) session = read("/ui/session").parsed().as_object();
        return answer;
    }
    raw_response read(std::string_view path, std::string_view extra = {})
    {
        return send(get(path, cookie + std::string(extra)));
    }
    raw_response change(std::string_view path, std::string_view body)
    {
        return send(post(path, body, cookie + proof()));
    }
    std::string proof() const { return "X-CSRF-Token: " + std::string(session.at("csrf").as_string()) + "\r\n"; }

    std::string cookie;
    json::object session;

private:
    stage& at_;
};

const std::string handshake =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
    "dGhlIHNhbXBsZSBub25jZQ==\r\n";

std::set<std::string> files_named_in(const std::string& html)
{
    std::set<std::string> files;
    for (const std::string mark : {"src=\"", "href=\""})
        for (auto at = html.find(mark); at != std::string::npos; at = html.find(mark, at)) {
            at += mark.size();
            const auto name = html.substr(at, html.find('"', at) - at);
            if (name.ends_with(".js") || name.ends_with(".css")) files.insert(name);
        }
    return files;
}

// "./x.js" is beside the file, "../ui/x.js" beside its folder.
std::set<std::string> files_imported_by(const std::string& name, const std::string& text)
{
    std::set<std::string> files;
    const std::string ending = ".js\"";
    for (auto end = text.find(ending); end != std::string::npos; end = text.find(ending, end + 1)) {
        const auto begin = text.rfind('"', end) + 1;
        const std::filesystem::path imported = text.substr(begin, end + ending.size() - 1 - begin);
        if (*imported.begin() == "." || *imported.begin() == "..")
            files.insert((std::filesystem::path(name).parent_path() / imported).lexically_normal().string());
    }
    return files;
}

}  // namespace

TEST_CASE("the pages and their files are small, and load and run nothing but each other")
{
    stage at;
    browser reader(at);
    for (const std::string path : {"/ui", "/docs"}) {
        const auto page = reader.read(path);
        CHECK(page.status == 200);
        CHECK(page.field("content-type") == "text/html; charset=utf-8");
        std::size_t size = page.body.size();
        auto files = files_named_in(page.body);
        CHECK(!files.empty());
        std::set<std::string> seen;
        while (!files.empty()) {
            const auto name = files.extract(files.begin()).value();
            if (!seen.insert(name).second) continue;
            const auto file = reader.read("/" + name);
            files.merge(files_imported_by(name, file.body));
            INFO(name);
            CHECK(file.status == 200);
            CHECK(file.field("content-type").starts_with(name.ends_with(".js") ? "text/javascript" : "text/css"));
            CHECK(file.field("x-content-type-options") == "nosniff");
            size += file.body.size();
        }
        CHECK(size <= (path == "/ui" ? 250'000 : 150'000));
        CHECK(seen.size() >= 3);
        if (path == "/ui") CHECK(seen.size() == 29);  // those of a sandbox's parts, which come later, among them
        CHECK(page.body.find(" style=") == std::string::npos);
        const std::string begin = "<style>", end = "</style>";
        const auto at_style = page.body.find(begin) + begin.size();
        const auto style = page.body.substr(at_style, page.body.find(end) - at_style);
        CHECK(style.size() > 1000);
        CHECK(page.body.find(begin, at_style) == std::string::npos);
        const auto policy = page.field("content-security-policy");
        CHECK(policy.starts_with("default-src 'none'"));
        CHECK(policy.find("unsafe") == std::string::npos);
        CHECK(policy.find("style-src 'sha256-" + base64_encode(sha256(style)) + "';") != std::string::npos);
        CHECK(policy.find("frame-ancestors 'none'") != std::string::npos);
        CHECK(policy.find(path == "/ui" ? "frame-src 'self';" : "frame-src 'none';") != std::string::npos);
        CHECK(page.field("cross-origin-resource-policy") == "same-origin");
        const auto again = reader.read(path, "If-None-Match: " + page.field("etag") + "\r\n");
        CHECK(again.status == 304);
        CHECK(again.body.empty());
    }
}

TEST_CASE("the files of /ui are kept without asking again, at addresses that change with them")
{
    stage at;
    browser reader(at);
    const auto page = reader.read("/ui");
    CHECK(page.field("cache-control") == "no-cache");
    const auto files = files_named_in(page.body);
    const auto folder = files.begin()->substr(0, files.begin()->rfind('/') + 1);
    CHECK(folder.size() == std::string("ui/0123456789abcdef/").size());
    for (const std::string name : {"page.js", "elements.js", "terminal.js", "screen.js", "page.css"}) {
        INFO(name);
        const auto cached = reader.read("/" + folder + name), asked_again = reader.read("/ui/" + name);
        CHECK(cached.status == 200);
        CHECK(cached.field("cache-control") == "public, max-age=31536000, immutable");
        CHECK(asked_again.field("cache-control") == "no-cache");
        CHECK(cached.body == asked_again.body);
    }
    CHECK(reader.read("/ui/0000000000000000/page.js").status == 404);
    const auto plain = reader.read("/ui/page.js"), zipped = reader.read("/ui/page.js", "Accept-Encoding: br, gzip\r\n");
    CHECK(plain.field("content-encoding").empty());
    CHECK(zipped.field("content-encoding") == "gzip");
    CHECK(zipped.body.size() * 2 < plain.body.size());
    CHECK(zipped.field("etag") != plain.field("etag"));
}

TEST_CASE("a caller reads the secrets of its sandboxes, and administrators alone set and remove them")
{
    stage at([](settings& config) {
        config.secrets_key_file = config.sandbox_root / "key";
        config.sandbox_root /= "data";
        std::filesystem::create_directory(config.sandbox_root);
    });
    browser ann(at), root(at);
    ann.log_in("ann-secret");
    root.log_in("root-secret");
    const std::string order =
        R"({"name":"KEY","value":"of eight or more","hosts":["api.example.com"],"header":"X: {}",)";
    for (const std::string whose :
         {R"("principal":"ann")", R"("principal":"root")", R"("principal":"*")", R"("sandbox":"sbx_1")"}) {
        const auto body = order + whose + "}";
        CHECK(root.change("/admin/secrets", body).status == 200);
        CHECK(ann.change("/admin/secrets", body).status == 403);
    }
    const auto count = [](browser& who) { return who.read("/admin/secrets").parsed().at("secrets").as_array().size(); };
    CHECK(count(root) == 4);
    CHECK(count(ann) == 2);  // nobody has that sandbox here
    CHECK(ann.read("/admin/secrets").body.find("eight") == std::string::npos);
}

TEST_CASE("a slash behind the name of a page leads to the page, whatever prefix a proxy has taken away")
{
    stage at;
    const auto answer = browser(at).read("/ui/");
    CHECK(answer.status == 308);
    CHECK(answer.field("location") == "../ui");
}

TEST_CASE("a token that is known opens a session by cookie, and the page says no token again")
{
    stage at;
    browser ann(at);
    CHECK(ann.read("/ui/session").parsed().at("logged_in") == false);
    const auto refused = ann.log_in("wrong");
    CHECK(refused.status == 403);
    CHECK(refused.field("set-cookie").empty());
    CHECK(refused.parsed().at("error").as_string().size() > 20);
    CHECK(ann.log_in("ann-secret").status == 200);
    CHECK(ann.session.at("principal") == "ann");
    CHECK(ann.session.at("everything") == false);
    CHECK(ann.session.at("by_cookie") == true);
    CHECK(json::serialize(ann.session).find("secret") == std::string::npos);
    CHECK(ann.read("/admin/runs").parsed().at("of") == "ann");
    CHECK(ann.read("/openapi.json").status == 200);
    browser root(at);
    root.log_in("root-secret");
    CHECK(root.session.at("everything") == true);
    CHECK(root.session.at("nodes").as_array().empty());
    CHECK(root.session.at("scopes").as_array().size() == 7);
}

TEST_CASE("the keys and quotas are reached by administrators alone, at the paths that /docs names")
{
    stage at;
    browser ann(at), root(at);
    ann.log_in("ann-secret");
    root.log_in("root-secret");
    CHECK(ann.read("/admin/keys").status == 403);
    CHECK(root.read("/admin/keys").parsed().at("keys").is_array());
    CHECK(root.read("/admin/quotas").parsed().at("quotas").is_array());
    CHECK(root.read("/admin/nothing").status == 404);
}

TEST_CASE("a request with the cookie changes something only with the text that the page alone can read")
{
    stage at;
    browser ann(at), bob(at);
    ann.log_in("ann-secret");
    bob.log_in("root-secret");
    for (const auto& forged : {std::string(), std::string("X-CSRF-Token: \r\n"), bob.proof()}) {
        CHECK(ann.send(del("/admin/runs/x", ann.cookie + forged)).status == 403);
        CHECK(ann.send(post("/mcp/tools/echo", R"({"text":"x"})", ann.cookie + forged)).status == 403);
    }
    CHECK(ann.send(del("/admin/runs/x", ann.cookie + ann.proof())).status == 200);
    CHECK(ann.send(post("/mcp/tools/echo", R"({"text":"x"})", ann.cookie + ann.proof())).status == 200);
    const std::string bearer = "Authorization: Bearer root-secret\r\n";
    CHECK(ann.send(del("/admin/runs/x", ann.cookie + bearer)).status == 200);
}

TEST_CASE("a page asks for a WebSocket with the text among its protocols, and hears why it gets none")
{
    stage at;
    browser ann(at);
    ann.log_in("ann-secret");
    const std::string path = "/sandbox/shell?sandbox_id=x";
    const auto own = std::string(ann.session.at("csrf").as_string());
    CHECK(ann.read(path, handshake).status == 403);
    CHECK(ann.read(path, handshake + "Sec-WebSocket-Protocol: cmcp.shell, cmcp.csrf.0\r\n").status == 403);
    raw_client page(at.server.port());
    page.send(get(path, ann.cookie + handshake + "Sec-WebSocket-Protocol: cmcp.shell, cmcp.csrf." + own + "\r\n"));
    const auto answer = page.read_head();
    CHECK(answer.status == 101);
    CHECK(answer.field("sec-websocket-protocol") == "cmcp.shell");
    // Other clients read the status.
    CHECK(ann.send(get(path, handshake + "Authorization: Bearer ann-secret\r\n")).status == 404);
}

TEST_CASE("the cookie is good for the page's own paths, and for no other site")
{
    stage at;
    browser ann(at);
    ann.log_in("ann-secret");
    CHECK(ann.send(post("/mcp", "{}", ann.cookie + ann.proof())).status == 401);
    for (const char* strange : {"Origin: null\r\n", "Origin: http://localhost:1\r\n", "Origin: http://evil.example\r\n",
                                "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n"})
        CHECK(ann.read("/admin/runs", strange).status == 403);
    const std::string body = R"({"token":"ann-secret"})";
    CHECK(ann.send(post("/ui/login", body, "Origin: http://evil.example\r\n")).status == 403);
    CHECK(ann.send("POST /ui/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: " +
                   std::to_string(body.size()) + "\r\n\r\n" + body)
              .status == 415);
}

TEST_CASE("who logs out is out, also with a copy of the cookie")
{
    stage at;
    browser ann(at);
    ann.log_in("ann-secret");
    CHECK(ann.send(post("/ui/logout", "{}", ann.cookie)).status == 403);
    const auto answer = ann.send(post("/ui/logout", "{}", ann.cookie + ann.proof()));
    CHECK(answer.status == 200);
    CHECK(answer.field("set-cookie").find("Max-Age=0") != std::string::npos);
    const auto left = ann.read("/ui/session").parsed().as_object();
    CHECK(left.at("logged_in") == false);
    CHECK_FALSE(left.contains("principal"));
}

TEST_CASE("a key that is revoked ends its browser's login, and the stream that is open")
{
    stage at;
    identity_store store(identity_store::file_in(at.root.path));
    key_order wanted;
    wanted.principal = "robot";
    const auto key = make_key(store, wanted, 1);
    browser robot(at);
    REQUIRE(robot.log_in(key.key.text()).status == 200);
    CHECK(robot.session.at("principal") == "robot");
    raw_client stream(at.server.port());
    stream.send(get("/admin/events", robot.cookie + "Accept: text/event-stream\r\n"));
    REQUIRE(stream.read_head().status == 200);
    std::set<std::string> names;
    while (names.size() < 3) names.insert(stream.read_event().name);
    CHECK(names == std::set<std::string>{"runs", "usage", "health"});
    store.revoke(key.record.id, 2);
    CHECK_THROWS_WITH(stream.read_event(), "the stream was cut off");
    const auto refused = robot.read("/ui/session");
    CHECK(refused.status == 401);
    CHECK(refused.parsed().at("error").as_string().find("revoked") != std::string::npos);
    CHECK(refused.field("www-authenticate").find("error=") != std::string::npos);
}

TEST_CASE("a login at an authorization server that fails ends on a page that says why, as text")
{
    stage at([](settings& config) {
        config.auth_issuers = {"https://as.example.org"};
        config.auth_ui_client = "ui";
    });
    browser ann(at);
    CHECK(ann.read("/ui/issuers").parsed().at("issuers").as_array().size() == 1);
    const auto unknown = ann.read("/ui/oauth?issuer=https://evil.example");
    CHECK(unknown.status == 404);
    CHECK(unknown.field("content-type").starts_with("text/html"));
    const auto foreign = ann.read("/ui/callback?state=a&code=b");
    CHECK(foreign.status == 403);
    CHECK(foreign.field("set-cookie").empty());
    const auto hostile =
        ann.read("/ui/callback?state=a&error=%3Cscript%3Ealert(1)%3C/script%3E", "Cookie: cmcp-state=a\r\n");
    CHECK(hostile.status == 403);
    CHECK(hostile.body.find("refused: &#60;script") != std::string::npos);
    CHECK(hostile.body.find("<script") == std::string::npos);
    CHECK(ann.read("/ui/callback?state=a&code=b", "Cookie: cmcp-state=a\r\n").status == 502);
}

TEST_CASE("without a client id there is nothing to log in at, and without names nothing to log in for")
{
    stage named([](settings& config) { config.auth_issuers = {"https://as.example.org"}; });
    CHECK(browser(named).read("/ui/issuers").parsed().at("issuers").as_array().empty());
    stage nameless([](settings& config) { config.auth_tokens.clear(); });
    const auto session = browser(nameless).read("/ui/session").parsed().as_object();
    CHECK(session.at("named") == false);
    CHECK(session.at("everything") == true);
    CHECK(session.at("by_cookie") == false);
}
