#include "text/header_parameter.hpp"

#include "test/support/catch.hpp"

namespace cmcp {

TEST_CASE("a parameter of a header is found behind the value, whatever its case and the blanks around it", "[text]")
{
    CHECK(header_parameter("text/html; charset=utf-8", "charset") == "utf-8");
    CHECK(header_parameter("text/html;CHARSET = utf-8 ; x=y", "charset") == "utf-8");
    CHECK(header_parameter("text/html; a; charset=latin1", "charset") == "latin1");
    CHECK(header_parameter("form-data; filename=a", "name") == std::nullopt);
    CHECK(header_parameter("charset=utf-8", "charset") == std::nullopt);
    CHECK(header_parameter("text/html; charset=", "charset") == "");
}

TEST_CASE("a quoted parameter may hold what ends others", "[text]")
{
    CHECK(header_parameter(R"(form-data; name="a;b \"c\""; filename="d")", "name") == R"(a;b "c")");
    CHECK(header_parameter(R"(form-data; name="open)", "name") == "open");
}

}  // namespace cmcp
