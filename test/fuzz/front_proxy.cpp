// The words of a proxy in front: a PROXY header that arrives byte by byte gets the verdict of the whole, and what the
// fields Forwarded and X-Forwarded-* tell is an address, a scheme and a host, or nothing.
#include "http/forwarded_client.hpp"
#include "http/proxy_header.hpp"

#include <boost/asio/ip/address.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace cmcp;

proxy_header byte_by_byte(std::string_view bytes)
{
    proxy_header header;
    for (std::size_t size = 1; size <= bytes.size() && header.is == proxy_header::state::more; ++size)
        header = proxy_header::look(bytes.substr(0, size));
    return header;
}

void check_header(std::string_view bytes)
{
    const auto whole = proxy_header::look(bytes), slow = byte_by_byte(bytes);
    if (whole.is != slow.is || whole.size != slow.size || whole.client != slow.client) std::abort();
    if (whole.size > bytes.size() || whole.size > proxy_header::longest) std::abort();
    if ((whole.is == proxy_header::state::read) != (whole.size != 0)) std::abort();
}

void check_fields(std::initializer_list<std::string_view> names, std::string_view value)
{
    http_request request;
    for (const auto name : names) request.fields.emplace_back(name, value);
    const auto client = forwarded_client_of(request, [](const std::string& address) { return address[0] == '1'; });
    if (!client) std::abort();
    boost::system::error_code error;
    if (client->address != unknown_client) boost::asio::ip::make_address(client->address, error);
    if (error || client->address.find('%') != std::string::npos) std::abort();
    if (!client->scheme.empty() && client->scheme != "http" && client->scheme != "https") std::abort();
    if (client->host.find_first_of("/\\\"<> \t\r\n@") != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check_header(bytes.substr(0, proxy_header::longest));
    check_fields({"forwarded"}, bytes);
    for (const auto* name : {"x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"}) check_fields({name}, bytes);
    check_fields({"forwarded", "x-forwarded-for"}, bytes);
    return 0;
}
