#include "identity/issuer_metadata.hpp"

#include "jsonrpc/read_object.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace cmcp {

namespace {

// The path of the issuer comes behind the well-known one (RFC 8414 section 3.1), or before it (OpenID Connect).
std::array<std::string, 3> metadata_addresses(const std::string& issuer)
{
    const auto host = std::min(issuer.find('/', issuer.find("://") + 3), issuer.size());
    std::string origin = issuer.substr(0, host), path = issuer.substr(host);
    while (path.ends_with('/')) path.pop_back();
    return {origin + "/.well-known/oauth-authorization-server" + path,
            origin + "/.well-known/openid-configuration" + path, origin + path + "/.well-known/openid-configuration"};
}

}  // namespace

// Each of these characters begins or divides values, wherever it stands, so there are no more values than of them.
json::object read_issuer_document(std::string_view text)
{
    constexpr std::size_t most_values = 8000;
    const auto divides = [](char c) { return c == ',' || c == '[' || c == '{' || c == ':'; };
    if (static_cast<std::size_t>(std::ranges::count_if(text, divides)) > most_values)
        throw std::runtime_error("its answer has more values than any that was asked for");
    return jsonrpc::read_object(text, 16);
}

awaitable<json::object> issuer_metadata(document_fetch fetch, std::string issuer)
{
    std::string trouble;
    for (const auto& address : metadata_addresses(issuer)) {
        document_request wanted{address};
        std::string text;
        try {
            text = co_await fetch(std::move(wanted));
        } catch (const boost::system::system_error&) {
            throw;
        } catch (const std::runtime_error& problem) {
            if (trouble.empty()) trouble = problem.what();
            continue;
        }
        auto document = read_issuer_document(text);
        if (view_of(document, "issuer") != issuer)
            throw std::runtime_error(address + " names the issuer " + text_of(document, "issuer").substr(0, 200) +
                                     ", and AUTH_ISSUERS " + issuer +
                                     ": they must be the same, to the slash at the end");
        co_return document;
    }
    throw std::runtime_error(trouble);
}

}  // namespace cmcp
