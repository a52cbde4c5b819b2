#include "secrets/secret_sealer.hpp"

#include "sealing/bad_snapshot.hpp"
#include "secrets/secret_error.hpp"
#include "text/encodings.hpp"

namespace cmcp {

namespace {

constexpr std::size_t most_opened = 64 * 1024;

std::string context_of(const secret_record& record)
{
    std::string context = "secret";
    for (const auto& part : {record.name, record.principal, record.sandbox, record.hosts, record.place})
        context += "\n" + part;
    return context;
}

}  // namespace

std::string secret_sealer::seal(const secret_record& record, std::string_view value) const
{
    return base64_encode(sealer_.seal(context_of(record), value));
}

std::string secret_sealer::open(const secret_record& record) const
try {
    return sealer_.open(context_of(record), base64_decode(record.sealed).value_or(""), most_opened);
} catch (const snapshots::bad_snapshot&) {
    throw secret_error("the secret " + record.name +
                       " does not open with the key in SECRETS_KEY_FILE: put back the key that it was set with, or "
                       "set it anew");
}

}  // namespace cmcp
