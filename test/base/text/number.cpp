#include "text/number.hpp"

#include "test/support/catch.hpp"

#include <cstdint>

namespace cmcp {

TEST_CASE("a number is all of the text or none", "[text]")
{
    CHECK(read_number("0") == 0u);
    CHECK(read_number("18446744073709551615") == UINT64_MAX);
    for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.5", "0x1f", "18446744073709551616"}) {
        CAPTURE(text);
        CHECK_FALSE(read_number(text));
    }
}

TEST_CASE("a number fits its type and its base", "[text]")
{
    CHECK(read_number<std::uint16_t>("65535") == 65535);
    CHECK_FALSE(read_number<std::uint16_t>("65536"));
    CHECK(read_number<std::uint32_t>("1f", 16) == 0x1fu);
    CHECK_FALSE(read_number<std::uint32_t>("8", 8));
    CHECK(read_number<double>("1e3") == 1000.0);
    CHECK_FALSE(read_number<double>("1e"));
}

}  // namespace cmcp
