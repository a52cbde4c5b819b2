#include "audit/chain.hpp"

#include "audit/record_text.hpp"
#include "audit/signing_key.hpp"

#include <array>
#include <charconv>

namespace cmcp::audit {

void chain::append(std::string& out, const record& of, const signing_key* by)
{
    const auto begin = out.size();
    std::array<char, 24> number;
    out.append("{\"n\":");
    out.append(number.data(), std::to_chars(number.data(), number.data() + number.size(), last_.number + 1).ptr);
    out.append(",\"at\":\"");
    append_time(out, of.at);
    out.append("\",\"kind\":\"").append(name_of(of.is)).append("\"").append(of.fields);
    if (!of.arguments.empty()) out.append(",\"arguments\":\"").append(of.arguments).append("\"");
    if (by != nullptr) {
        const auto signature = by->sign(std::string_view(out).substr(begin));
        out.append(signature_member).append(signature).append("\"");
    }
    const auto digest = digests_.of({last_.digest, std::string_view(out).substr(begin)});
    out.append(chain_member).append(digest).append(line_end).append("\n");
    ++last_.number;
    last_.digest.assign(digest);
}

}  // namespace cmcp::audit
