#include "objects/aws_signature.hpp"
#include "test/support/catch.hpp"
#include "text/encodings.hpp"

using namespace cmcp;

// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
namespace {

const aws_credentials example{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
constexpr std::time_t example_time = 1369353600;  // 2013-05-24T00:00:00Z
const std::string example_host = "examplebucket.s3.amazonaws.com";

std::string value_of(const name_values& fields, const std::string& name)
{
    for (const auto& [each, value] : fields)
        if (each == name) return value;
    return {};
}

std::string authorization(aws_request request, const std::string& body = {})
{
    request.headers.emplace_back("Host", example_host);
    request.payload_hash = sha256_hex(body);
    return value_of(aws_signature(request, example, "us-east-1", example_time), "Authorization");
}

std::string expected(const std::string& signed_headers, const std::string& signature)
{
    return "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" +
           signed_headers + ",Signature=" + signature;
}

}  // namespace

TEST_CASE("a request for a part of an object is signed as Amazon's example")
{
    CHECK(authorization({.path = "/test.txt", .headers = {{"Range", "bytes=0-9"}}}) ==
          expected("host;range;x-amz-content-sha256;x-amz-date",
                   "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

TEST_CASE("a request that stores an object is signed as Amazon's example")
{
    const name_values headers{{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
    const auto path = aws_encoded_path("/test$file.text");
    CHECK(path == "/test%24file.text");
    CHECK(authorization({.method = "PUT", .path = path, .headers = headers}, "Welcome to Amazon S3.") ==
          expected("date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                   "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST_CASE("requests with a query are signed as Amazon's examples")
{
    const std::string names = "host;x-amz-content-sha256;x-amz-date";
    CHECK(authorization({.query = {{"lifecycle", ""}}}) ==
          expected(names, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
    CHECK(authorization({.query = {{"prefix", "J"}, {"max-keys", "2"}}}) ==
          expected(names, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST_CASE("the fields that belong to a signature name time and digest, and a session token where there is one")
{
    auto by = example;
    aws_request request{.headers = {{"Host", example_host}}, .payload_hash = sha256_hex("x")};
    const auto plain = aws_signature(request, by, "us-east-1", example_time);
    CHECK(value_of(plain, "x-amz-date") == "20130524T000000Z");
    CHECK(value_of(plain, "x-amz-content-sha256") == sha256_hex("x"));
    CHECK(plain.size() == 3);
    by.session_token = "of-a-session";
    const auto fields = aws_signature(request, by, "us-east-1", example_time);
    CHECK(value_of(fields, "x-amz-security-token") == "of-a-session");
    CHECK(value_of(fields, "Authorization").find(";x-amz-security-token,") != std::string::npos);
    for (const auto& [name, value] : fields) CHECK(value.find(by.secret) == std::string::npos);
}

TEST_CASE("blanks in and around a value, the order of fields and the case of their names do not change a signature")
{
    const auto plain = authorization({.headers = {{"range", "bytes=0-9 x"}, {"x-amz-a", "1"}}});
    CHECK(plain == authorization({.headers = {{"X-Amz-A", " 1 "}, {"Range", "  bytes=0-9   x "}}}));
    CHECK(plain != authorization({.headers = {{"range", "bytes=0-9x"}, {"x-amz-a", "1"}}}));
}

TEST_CASE("all but the unreserved characters is encoded, a slash in a query alone")
{
    CHECK(aws_encoded_path("/a b/ü+*'~_.-%") == "/a%20b/%C3%BC%2B%2A%27~_.-%25");
    CHECK(aws_encoded("a/b=c&d") == "a%2Fb%3Dc%26d");
    CHECK(aws_query({{"b", "2/"}, {"a", "x y"}, {"a", "A"}, {"empty", ""}}) == "a=A&a=x%20y&b=2%2F&empty=");
}
