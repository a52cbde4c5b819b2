#include "packages/package_index.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

constexpr const char* wheel = "http://files.example/a/one-1.0-py3-none-any.whl";

std::string place_of(const package_index& index, const std::string& address)
{
    const auto entry = index.find(address);
    if (!entry) return "refused";
    return (entry->is_page ? "page " : "file ") + entry->url.text();
}

package_index pip_index(const std::string& root = "https://index.example/simple")
{
    return {package_kind::pip, web_url::parse(root)};
}

std::string shown(package_index& index, const std::string& page)
{
    auto read = index.read(web_url::parse("https://index.example/simple/one/"), page);
    index.remember(std::move(read.files));
    return read.text;
}

}  // namespace

TEST_CASE("of an index only the pages of packages may be asked for, and the files that they named")
{
    auto index = pip_index();
    CHECK(place_of(index, "http://index.example/simple/one/") == "page https://index.example/simple/one/");
    CHECK(place_of(index, "http://index.example/simple/One_2.x") == "page https://index.example/simple/One_2.x/");
    CHECK(place_of(index, wheel) == "refused");
    shown(index, R"(<a href="https://files.example/a/one-1.0-py3-none-any.whl#sha256=0a">one</a>)");
    CHECK(place_of(index, wheel) == "file https://files.example/a/one-1.0-py3-none-any.whl");
    CHECK(place_of(index, std::string(wheel) + ".metadata") ==
          "file https://files.example/a/one-1.0-py3-none-any.whl.metadata");
}

TEST_CASE("other addresses of an index, and of other hosts, are refused")
{
    auto index = pip_index();
    shown(index, R"(<a href="https://files.example/a/one-1.0-py3-none-any.whl">one</a>)");
    for (const char* address :
         {"http://index.example/", "http://index.example/simple/", "http://index.example/simple/one/more/",
          "http://index.example/simple/../admin/", "http://index.example/simple/%2e%2e/",
          "http://index.example/simple/..", "http://index.example/simple/one/?data=1",
          "http://index.example/simple/one%2fmore", "http://index.example:81/simple/one/",
          "http://other.example/simple/one/", "http://files.example/a/",
          "http://files.example/a/one-1.0-py3-none-any.whl?data=1", "http://u:p@index.example/simple/one/",
          "ftp://index.example/simple/one/", "/simple/one/", "index.example:443", ""})
        CHECK(address + (" " + place_of(index, address)) == std::string(address) + " refused");
}

TEST_CASE("links of a page become plain ones, whatever the way they are written")
{
    auto index = pip_index();
    CHECK(shown(index,
                "<!doctype html>\n<A data-requires-python='&gt;=3.8' HREF = https://f.example/x.whl#md5=1 >x</A>") ==
          "<!doctype html>\n<A data-requires-python='&gt;=3.8' HREF = http://f.example/x.whl#md5=1 >x</A>");
    CHECK(shown(index, R"(<a title=">" href="../../f/y.whl?a=1&amp;b=2">y</a>)") ==
          R"(<a title=">" href="http://index.example/f/y.whl?a=1&amp;b=2">y</a>)");
    CHECK(shown(index, R"(<base href="https://b.example:8443/d/"><a class=x href='z.whl'>z</a>)") ==
          R"(<base href="http://b.example:8443/d/"><a class=x href='http://b.example:8443/d/z.whl'>z</a>)");
    CHECK(place_of(index, "http://f.example/x.whl") == "file https://f.example/x.whl");
    CHECK(place_of(index, "http://index.example/f/y.whl?a=1&b=2") == "file https://index.example/f/y.whl?a=1&b=2");
    CHECK(place_of(index, "http://b.example:8443/d/z.whl") == "file https://b.example:8443/d/z.whl");
}

TEST_CASE("text that only looks like links is left as it is")
{
    auto index = pip_index();
    for (const char* page : {"", "<", "<a", "<a ", "<a href", "<a href=", "<a href=\"", "<abbr href='x'>", "<a name=x>",
                             "<a =href=x>", "<a /", "a href=x", "<a href"})
        CHECK(shown(index, page) == page);
    CHECK(shown(index, "<a href='ftp://x/y.whl'><a href='https://u:p@x/y.whl'>") == "<a href=''><a href=''>");
}

TEST_CASE("the page of another package that a page links to is still a page")
{
    auto index = pip_index();
    shown(index, R"(<a href="../two/">two</a>)");
    CHECK(place_of(index, "http://index.example/simple/two/") == "page https://index.example/simple/two/");
}

TEST_CASE("npm may ask for packages, with scopes, and for tarballs at their path of the registry")
{
    package_index index(package_kind::npm, web_url::parse("https://registry.example/npm/"));
    CHECK(place_of(index, "http://registry.example/npm/left-pad") == "page https://registry.example/npm/left-pad");
    CHECK(place_of(index, "http://registry.example/npm/@own%2fpad") == "page https://registry.example/npm/@own%2fpad");
    const std::string page = R"({"versions": {"1.0.0": {"dist": {"tarball": "https://cdn.example/p/-/p-1.tgz?x"}},
        "2": {"dist":{"tarball" :"no address"}}, "3": {"tarball": 3}, "4": {"tarball")";
    auto read = index.read(web_url::parse("https://registry.example/npm/p"), page);
    index.remember(std::move(read.files));
    CHECK(read.text == page);
    CHECK(place_of(index, "http://registry.example/p/-/p-1.tgz") == "file https://cdn.example/p/-/p-1.tgz?x");
    for (const char* address :
         {"http://registry.example/npm/-/user/token", "http://registry.example/npm/-/v1/search?text=x",
          "http://registry.example/npm/p/1.0.0", "http://cdn.example/p/-/p-1.tgz",
          "http://registry.example/p/-/p-2.tgz", "http://registry.example/npm/"})
        CHECK(address + (" " + place_of(index, address)) == std::string(address) + " refused");
}
