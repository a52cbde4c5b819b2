#include "jsonrpc/plain_text.hpp"

#include "test/support/catch.hpp"

#include <string>

using namespace cmcp;

TEST_CASE("a text is plain where each of its bytes can stay as it is, wherever the one stands that cannot")
{
    for (std::size_t size = 0; size <= 33; ++size) {
        std::string text(size, 'x');
        CHECK(jsonrpc::is_plain(text));
        CHECK(jsonrpc::plain_prefix(text) == size);
        for (std::size_t at = 0; at < size; ++at)
            for (int byte = 0; byte < 256; ++byte) {
                text.assign(size, 'x');
                text[at] = static_cast<char>(byte);
                const bool plain = jsonrpc::is_plain_byte(static_cast<unsigned char>(byte));
                if (jsonrpc::is_plain(text) != plain || jsonrpc::plain_prefix(text) != (plain ? size : at))
                    FAIL("byte " << byte << " at " << at << " of " << size);
            }
    }
}
