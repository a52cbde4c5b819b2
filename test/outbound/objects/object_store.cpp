#include "objects/object_store.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "test/outbound/egress/egress_support.hpp"
#include "test/support/log_lines.hpp"
#include "text/encodings.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

const std::string hidden = "the-hidden-secret/of+the=key";

/// A storage on loopback that says what it is told to say, and a client of it.
struct store_stage {
    asio::io_context io;
    origin web{io};
    object_store_options options;
    std::optional<object_store> client;

    store_stage()
    {
        options.to = {.secure = false, .host = "127.0.0.1", .port = web.port(), .bucket = "bucket", .prefix = "of/us/"};
        options.by = {"the-key", hidden};
        options.first_pause = std::chrono::milliseconds(1);
        options.patience = std::chrono::seconds(10);
    }
    object_store& store()
    {
        if (!client) client.emplace(io.get_executor(), options);
        return *client;
    }
    template <class T>
    T run(awaitable<T> work)
    {
        return run_coroutine(io, std::move(work));
    }
    template <class T>
    object_store_error failure(awaitable<T> work)
    {
        try {
            run(std::move(work));
        } catch (const object_store_error& problem) {
            return problem;
        }
        return {"no failure", "", 1};
    }
    const std::string& sent(std::size_t number) const { return web.requests.at(number); }
};

script refusal(const std::string& status, const std::string& code, const std::string& message = "Words of the storage.")
{
    return send(answer("<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message +
                           "</Message><RequestId>1</RequestId></Error>",
                       "application/xml", {}, status));
}

script page_of(const std::vector<std::string>& keys, const std::string& next)
{
    std::string xml = "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    for (const auto& key : keys) xml += "<Contents><Key>" + key + "</Key></Contents>";
    if (!next.empty())
        xml += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + next + "</NextContinuationToken>";
    return send(answer(xml + "</ListBucketResult>", "application/xml"));
}

const script ended{{step::kind::close, {}, {}}};
const std::string path = "/bucket/of/us/a%20key";

}  // namespace

TEST_CASE("an object is stored below bucket and prefix with a signature of its bytes")
{
    store_stage s;
    s.web.on(path, send(answer("")));
    const std::string bytes("\0\r\nsome", 7);
    s.run(s.store().put("a key", bytes));
    const auto& sent = s.sent(0);
    CHECK(has(sent, "PUT " + path + " HTTP/1.1\r\n"));
    CHECK(has(sent, "x-amz-content-sha256: " + sha256_hex(bytes) + "\r\n"));
    CHECK(has(sent, "Authorization: AWS4-HMAC-SHA256 Credential=the-key/"));
    CHECK(has(sent, "SignedHeaders=host;x-amz-content-sha256;x-amz-date,"));
    CHECK(sent.ends_with("\r\n\r\n" + bytes));
    CHECK_FALSE(has(sent, hidden));
    CHECK_FALSE(has(sent, "If-None-Match"));
}

TEST_CASE("an object comes as it was stored, and one that is missing is nothing")
{
    store_stage s;
    s.web.on(path, send(answer(std::string("a\0b", 3), "application/octet-stream")));
    s.web.on("/bucket/of/us/missing", refusal("404 Not Found", "NoSuchKey"));
    CHECK(s.run(s.store().get("a key")) == std::string("a\0b", 3));
    CHECK(s.run(s.store().get("missing")) == std::nullopt);
    CHECK(has(s.sent(0), "GET " + path));
}

TEST_CASE("a bucket that is missing is no missing object")
{
    store_stage s;
    s.web.on(path, refusal("404 Not Found", "NoSuchBucket"));
    const auto problem = s.failure(s.store().get("a key"));
    CHECK(problem.code == "NoSuchBucket");
    CHECK(has(problem.what(), "Create the bucket that SNAPSHOT_STORE names"));
    CHECK(s.failure(s.store().remove("a key")).code == "NoSuchBucket");
}

TEST_CASE("an object is removed also where it is gone, and not where the key may not")
{
    store_stage s;
    s.web.once(path, send("HTTP/1.1 204 No Content\r\n\r\n"));
    s.web.once(path, refusal("404 Not Found", "NoSuchKey"));
    s.web.once(path, send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"));
    s.run(s.store().remove("a key"));
    s.run(s.store().remove("a key"));
    CHECK(has(s.failure(s.store().remove("a key")).what(), "read, write, list and delete"));
    CHECK(has(s.sent(0), "DELETE " + path));
}

TEST_CASE("keys are listed over all pages, without the prefix of the address")
{
    store_stage s;
    s.options.page_size = 2;
    s.web.once("/bucket", page_of({"of/us/p/1", "of/us/p/a &amp; b"}, "next/="));
    s.web.once("/bucket", page_of({"of/us/p/3", "elsewhere"}, ""));
    CHECK(s.run(s.store().list("p/")) == std::vector<std::string>{"p/1", "p/a & b", "p/3"});
    CHECK(has(s.sent(0), "GET /bucket?list-type=2&max-keys=2&prefix=of%2Fus%2Fp%2F HTTP/1.1\r\n"));
    CHECK(has(s.sent(1), "GET /bucket?continuation-token=next%2F%3D&list-type=2&max-keys=2&prefix=of%2Fus%2Fp%2F "));
}

TEST_CASE("a list that is none, or that never ends, is a failure")
{
    store_stage s;
    s.web.once("/bucket", send(answer("<html><p>Welcome</html>")));
    CHECK(has(s.failure(s.store().list("")).what(),
              "did not list \"\": it answered no list, because its XML is malformed"));
    s.web.once("/bucket", page_of({}, "same"));
    s.web.once("/bucket", page_of({}, "same"));
    CHECK(has(s.failure(s.store().list("p")).what(), "it repeats a page"));
    for (const auto* next : {"one", "two", "one"}) s.web.once("/bucket", page_of({"of/us/p/1"}, next));
    CHECK(has(s.failure(s.store().list("p")).what(), "it repeats a page"));
    for (int i = 0; i < 102; ++i) s.web.once("/bucket", page_of({}, "page-" + std::to_string(i)));
    CHECK(has(s.failure(s.store().list("p")).what(), "it goes on without keys"));
}

TEST_CASE("what passes is tried again, each time with a connection or an answer that works")
{
    log_lines lines(log::level::warning);
    store_stage s;
    for (const auto* status :
         {"500 Internal Server Error", "502 Bad Gateway", "503 Slow Down", "429 Too Many Requests"})
        s.web.once(path, refusal(status, "SlowDown"));
    s.web.once(path, ended);
    s.web.on(path, send(answer("at last")));
    CHECK(s.run(s.store().get("a key")) == "at last");
    CHECK(s.web.requests.size() == 6);
    CHECK(lines.of("object_storage_again").size() ==
          4);  // the client sends again by itself what an old connection took
    CHECK_FALSE(has(lines.text(), hidden));
}

TEST_CASE("after the time for attempts the last answer is told")
{
    store_stage s;
    s.options.patience = std::chrono::milliseconds(2000);
    s.options.first_pause = std::chrono::milliseconds(1500);
    s.web.on(path, refusal("503 Service Unavailable", "SlowDown", "Please reduce your request rate."));
    const auto problem = s.failure(s.store().put("a key", "x"));
    CHECK(has(problem.what(), "did not store \"a key\": it answered 503 SlowDown (Please reduce your request rate.)."));
    CHECK(has(problem.what(), "The attempts were 2."));
    CHECK(has(problem.what(), "try again later"));
    CHECK(problem.status == 503);
    CHECK(s.web.requests.size() == 2);
}

TEST_CASE("where nobody listens the sentence says so, and what to look at")
{
    store_stage s;
    s.options.patience = std::chrono::milliseconds(0);
    {
        asio::ip::tcp::acceptor gone(s.io, {asio::ip::address_v4::loopback(), 0});
        s.options.to.port = gone.local_endpoint().port();
    }
    const auto problem = s.failure(s.store().get("a key"));
    CHECK(has(problem.what(), "cannot be reached: Connection refused"));
    CHECK(has(problem.what(), "Check the host and the port of SNAPSHOT_STORE"));
    CHECK((problem.status == 0 && problem.code.empty()));
}

TEST_CASE("a storage that does not answer is given up after the time for a request")
{
    store_stage s;
    s.options.patience = std::chrono::milliseconds(0);
    s.options.request_timeout = std::chrono::milliseconds(100);
    s.web.on(path, {{step::kind::hang, {}, {}}});
    CHECK(
        has(s.failure(s.store().get("a key")).what(), "Timed out after 0.1 s (the time for a request to the storage)"));
}

TEST_CASE("an error of the storage becomes a sentence with what was wanted, what it said and what helps")
{
    const std::vector<std::pair<std::string, std::string>> cases{
        {"SignatureDoesNotMatch", "SNAPSHOT_STORE_SECRET is not the secret of SNAPSHOT_STORE_KEY_ID"},
        {"InvalidAccessKeyId", "does not know SNAPSHOT_STORE_KEY_ID"},
        {"RequestTimeTooSkewed", "The clocks of this machine and of the storage differ too much"},
        {"AccessDenied", "may read, write, list and delete objects"},
        {"SomethingElse", "may read, write, list and delete objects"},
        {"AuthorizationHeaderMalformed", "set SNAPSHOT_STORE_REGION"}};
    for (const auto& [code, advice] : cases) {
        store_stage s;
        s.web.on(path, refusal("403 Forbidden", code, "It is &lt;so&gt;\nwith " + hidden));
        const auto problem = s.failure(s.store().put("a key", "x"));
        INFO(problem.what());
        CHECK(has(problem.what(),
                  "The object storage http://" + s.web.authority() + "/bucket/of/us/ did not store \"a key\""));
        CHECK(has(problem.what(), "it answered 403 " + code + " (It is <so> with ***)."));
        CHECK(has(problem.what(), advice));
        CHECK_FALSE(has(problem.what(), hidden));
        CHECK(problem.code == code);
        CHECK(s.web.requests.size() == 1);
    }
}

TEST_CASE("an error of something in front of the storage is told by its status")
{
    store_stage s;
    s.web.on(path, send(answer("<html>no</html>", "text/html", {}, "403 Forbidden")));
    CHECK(has(s.failure(s.store().get("a key")).what(), "it answered 403 Forbidden."));
}

TEST_CASE("a storage that leads elsewhere is in another region")
{
    store_stage s;
    s.web.on(path,
             send("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"));
    CHECK(has(s.failure(s.store().put("a key", "x")).what(), "set SNAPSHOT_STORE_REGION"));
    CHECK(has(s.failure(s.store().get("a key")).what(), "set SNAPSHOT_STORE_REGION"));
    CHECK(s.web.requests.size() == 2);
}

TEST_CASE("an object of more than 16 MiB is neither sent nor taken")
{
    store_stage s;
    s.web.on(path, send("HTTP/1.1 200 OK\r\nContent-Length: 16777217\r\n\r\n"));
    CHECK(has(s.failure(s.store().put("a key", std::string(object_store::most_bytes + 1, 'x'))).what(),
              "16777217 bytes"));
    CHECK(s.web.requests.empty());
    CHECK(has(s.failure(s.store().get("a key")).what(), "at most 16 MiB"));
    s.web.on("/bucket/of/us/whole", send(answer(std::string(object_store::most_bytes, 'x'))));
    CHECK(s.run(s.store().get("whole"))->size() == object_store::most_bytes);
    s.run(s.store().put("whole", std::string(object_store::most_bytes, 'x')));
}

TEST_CASE("a storage speaks TLS with a certificate of the authority that is set")
{
    const test_ca authority;
    auto context = authority.server_context();
    store_stage s;
    origin secure(s.io, &context);
    secure.on(path, send(answer("over TLS")));
    s.options.to.secure = true;
    s.options.to.port = secure.port();
    CHECK(has(s.failure(s.store().get("a key")).what(), "Set SNAPSHOT_STORE_CA"));
    s.client.reset();
    const auto file = std::filesystem::temp_directory_path() / ("cmcp-store-ca-" + std::to_string(::getpid()));
    std::ofstream(file) << authority.authority_pem;
    s.options.ca = file;
    CHECK(s.run(s.store().get("a key")) == "over TLS");
    std::filesystem::remove(file);
}

TEST_CASE("a file of authorities that is none stops the start and names its setting")
{
    store_stage s;
    s.options.ca = "/does/not/exist.pem";
    std::string refused;
    try {
        s.store();
    } catch (const config_error& problem) {
        refused = problem.what();
    }
    CHECK(has(refused, "SNAPSHOT_STORE_CA: \"/does/not/exist.pem\" cannot be read"));
}

TEST_CASE("a storage is described by settings")
{
    settings config;
    config.snapshot_store = "https://s3.example:9000/bucket/prefix";
    config.snapshot_store_region = "eu-west-1";
    config.snapshot_store_key_id = "id";
    config.snapshot_store_secret = hidden;
    config.snapshot_store_ca = "/ca";
    const auto options = object_store_options::of(config);
    CHECK((options.to.host == "s3.example" && options.to.bucket == "bucket" && options.to.prefix == "prefix/"));
    CHECK((options.region == "eu-west-1" && options.by.key_id == "id" && options.by.secret == hidden));
    CHECK(options.ca == "/ca");
}
