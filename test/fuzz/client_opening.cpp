// The first bytes that a client of a sandbox sends: bytes that arrive one by one get the verdict of all at once, and a
// handshake that is passed on names the host that it is for.
#include "egress/client_opening.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace cmcp;

client_opening opened_byte_by_byte(std::string_view bytes)
{
    client_opening opening;
    for (std::size_t size = 1; size <= bytes.size() && opening.is == client_opening::kind::more; ++size)
        opening = client_opening::parse(bytes.substr(0, size));
    return opening;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view bytes(reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 4096));
    const auto whole = client_opening::parse(bytes), slow = opened_byte_by_byte(bytes);
    if (whole.is != slow.is || whole.server_name != slow.server_name) std::abort();
    if (whole.is != client_opening::kind::tls && !whole.server_name.empty()) std::abort();
    const auto who = read_host("one.example");
    const bool passed = server_name_problem(whole.server_name, who, 443).empty();
    if (passed && !(read_host(whole.server_name) == who)) std::abort();
    return 0;
}
