// The first bytes of a program to a name's address, and its questions for names, are read or refused.
#include "egress/client_opening.hpp"
#include "egress/dns_message.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace cmcp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto opening = look_at_opening(bytes);
    if (opening.name && (opening.is != client_opening::kind::tls || opening.name->size() > size)) std::abort();
    const auto question = read_dns_question(bytes);
    if (!question) return 0;
    if (question->name.size() > 255) std::abort();
    const auto answer = write_dns_answer(*question, dns::outcome::done, boost::asio::ip::address_v4::loopback());
    const auto again = read_dns_question(answer);
    if (again || answer.size() > size + 32) std::abort();
    return 0;
}
