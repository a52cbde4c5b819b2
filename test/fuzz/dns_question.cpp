// DNS queries of a sandbox: an answer is small, repeats id and question, and has a record for an allowed name alone,
// whose address leads back to that name.
#include "egress/dns_answer.hpp"
#include "egress/dns_query.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace cmcp;

void check_answer(std::string_view query, const std::string& answer)
{
    if (answer.size() < 12 || answer.size() > 512 || answer.substr(0, 2) != query.substr(0, 2)) std::abort();
    if ((answer[2] & 0x80) == 0) std::abort();
    const std::size_t repeated = answer[5] == 0 ? 0 : dns_query::read(query).bytes.size();
    if (answer.substr(12, repeated) != query.substr(12, repeated)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view query(reinterpret_cast<const char*>(data), size);
    name_addresses names;
    std::string allowed;
    const auto answer = answer_names(query, names, [&](const host& who) {
        if (who.address || who.name.find_first_of(" \r\n/") != std::string::npos) std::abort();
        allowed = who.name.starts_with('a') ? who.name : "";
        return !allowed.empty();
    });
    if (names.size() > 1 || (names.size() == 1 && allowed.empty())) std::abort();
    if (names.size() == 1 && names.name_of(names.address_of(allowed, true)) != allowed) std::abort();
    if (answer) check_answer(query, *answer);
    return 0;
}
