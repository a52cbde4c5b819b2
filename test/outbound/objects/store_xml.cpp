#include "objects/store_xml.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

using namespace cmcp;

namespace {

const std::string beginning =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";

void read_all(std::string_view document)
{
    xml_reader xml({"a"});
    xml.take(document);
    xml.finish();
}

std::string repeated(std::string_view text, std::size_t times)
{
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

std::vector<std::string> keys_of(const store_listing& listing)
{
    std::vector<std::string> keys;
    for (const auto& each : listing.objects) keys.push_back(each.key);
    return keys;
}

std::string page(const std::string& content) { return beginning + content + "</ListBucketResult>"; }

}  // namespace

TEST_CASE("a list of keys is read with its continuation")
{
    const auto listing = read_listing(
        page("<Name>b</Name><Prefix>p/</Prefix><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>\n"
             "<Contents><Key>p/a &amp; "
             "b</Key><ETag>&quot;e1-2&quot;</ETag><Size>3</Size><Owner><ID>Key</ID></Owner></Contents>\n"
             "<Contents><Key> \xc3\xbc </Key></Contents><NextContinuationToken>1/x=</NextContinuationToken>"));
    CHECK(keys_of(listing) == std::vector<std::string>{"p/a & b", " \xc3\xbc "});
    CHECK(listing.objects.at(0).etag == "e1-2");
    CHECK(listing.objects.at(1).etag.empty());
    CHECK(listing.next == "1/x=");
}

TEST_CASE("the last page of a list has no continuation, and an empty one no keys")
{
    const auto last =
        read_listing(page("<IsTruncated>false</IsTruncated><NextContinuationToken>x</NextContinuationToken>"));
    CHECK(last.objects.empty());
    CHECK(last.next.empty());
    CHECK(read_listing(page("")).next.empty());
}

TEST_CASE("what is no list of keys is refused")
{
    CHECK_THROWS_AS(read_listing(""), bad_xml);
    CHECK_THROWS_AS(read_listing("<html><body>hello</body></html>"), bad_xml);
    CHECK_THROWS_AS(read_listing(beginning + "<Contents><Key>a</Key>"), bad_xml);
    CHECK_THROWS_AS(read_listing(page("<IsTruncated>true</IsTruncated>")), bad_xml);
    CHECK_THROWS_AS(read_listing(page("") + page("")), bad_xml);
}

TEST_CASE("a document type and deep nesting are refused before they cost anything")
{
    CHECK_THROWS_AS(read_all("<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>"), bad_xml);
    CHECK_THROWS_AS(read_all("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>"), bad_xml);
    std::string deep;
    for (int i = 0; i < 17; ++i) deep += "<a>";
    CHECK_THROWS_AS(read_all(deep), bad_xml);
}

TEST_CASE("an error is read with its code and message, and any other body is none")
{
    const auto refusal = read_refusal(
        "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message>"
        "<Key>a</Key><RequestId>1</RequestId></Error>");
    CHECK(refusal.code == "NoSuchKey");
    CHECK(refusal.message == "The specified key does not exist.");
    for (const auto* other : {"", "Bad gateway", "<html><Code>x</Code></html>", "<Error><Code>x"})
        CHECK(read_refusal(other).code.empty());
}

TEST_CASE("a page of more keys, longer keys or longer names than S3 has is refused")
{
    const std::string key = "<Contents><Key>k</Key></Contents>";
    CHECK(read_listing(page(repeated(key, 1000))).objects.size() == 1000);
    CHECK_THROWS_AS(read_listing(page(repeated(key, 1100))), bad_xml);
    CHECK_THROWS_AS(read_listing(page("<Contents><Key>" + std::string(1025, 'k') + "</Key></Contents>")), bad_xml);
    CHECK_THROWS_AS(read_listing(page("<Contents><Key>" + std::string(1u << 20, 'k') + "</Key></Contents>")), bad_xml);
    CHECK_THROWS_AS(read_listing(page("<" + std::string(100'000, 'n') + "/>")), bad_xml);
    CHECK(read_listing(page("<Other>" + std::string(1u << 20, 'x') + "</Other>" + key)).objects.size() == 1);
    CHECK(read_refusal("<Error><Code>a</Code>" + std::string(100'000, ' ') + "</Error>").code.empty());
}

TEST_CASE("a page is read however it is cut")
{
    const std::string body = page("<Contents><Key>a &amp; b</Key></Contents><IsTruncated>false</IsTruncated>");
    for (std::size_t size = 1; size <= body.size(); ++size) {
        listing_reader reader;
        for (std::size_t at = 0; at < body.size(); at += size) reader.take(std::string_view(body).substr(at, size));
        CHECK(keys_of(reader.finish()) == std::vector<std::string>{"a & b"});
    }
}

TEST_CASE("a page is read in linear time")
{
    for (const std::string_view content :
         {"<a/>", "<a>x</a>", "<a><b><c/></b></a>", "<a x='1'/>", "&amp;", "<!-- -->"}) {
        const auto body = [content](std::size_t times) { return page(repeated(content, times)); };
        const auto many_times = [](const std::string& text) {
            for (int i = 0; i < 10; ++i) read_listing(text);
        };
        CHECK(test::growth(body, many_times, 2'000) < test::linear_growth);
    }
}
