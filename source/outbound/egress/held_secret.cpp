#include "egress/held_secret.hpp"

#include "text/words.hpp"

#include <stdexcept>

namespace cmcp {

std::vector<egress_entry> read_secret_hosts(std::string_view text)
{
    using kind = egress_entry::kind;
    constexpr std::size_t most = 20;
    std::vector<egress_entry> hosts;
    for (const auto word : split(text, ',')) {
        auto entry = egress_entry::parse(word);
        const bool is_name = entry.is == kind::exact || entry.is == kind::subdomains;
        if (!is_name || entry.refuses || (entry.is == kind::subdomains && entry.name.find('.') == std::string::npos))
            throw std::invalid_argument("\"" + std::string(word) +
                                        "\" is no host of a secret: write api.example.com or *.example.com, with :port "
                                        "where it is not 443.");
        if (entry.port == 0) entry.port = held_secret::usual_port;
        hosts.push_back(std::move(entry));
    }
    if (hosts.empty() || hosts.size() > most) throw std::invalid_argument("a secret is for 1 to 20 hosts.");
    return hosts;
}

}  // namespace cmcp
