#include "objects/store_xml.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

const std::string beginning =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";

std::string page(const std::string& content) { return beginning + content + "</ListBucketResult>"; }

}  // namespace

TEST_CASE("a list of keys is read with its continuation")
{
    const auto listing = read_listing(
        page("<Name>b</Name><Prefix>p/</Prefix><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>\n"
             "<Contents><Key>p/a &amp; b</Key><Size>3</Size><Owner><ID>Key</ID></Owner></Contents>\n"
             "<Contents><Key> \xc3\xbc </Key></Contents><NextContinuationToken>1/x=</NextContinuationToken>"));
    CHECK(listing.keys == std::vector<std::string>{"p/a & b", " \xc3\xbc "});
    CHECK(listing.next == "1/x=");
}

TEST_CASE("the last page of a list has no continuation, and an empty one no keys")
{
    const auto last =
        read_listing(page("<IsTruncated>false</IsTruncated><NextContinuationToken>x</NextContinuationToken>"));
    CHECK(last.keys.empty());
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
    CHECK_THROWS_AS(xml_texts("<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>"), bad_xml);
    CHECK_THROWS_AS(xml_texts("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>"), bad_xml);
    std::string deep;
    for (int i = 0; i < 17; ++i) deep += "<a>";
    CHECK_THROWS_AS(xml_texts(deep), bad_xml);
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
