#include "http/signed_link.hpp"

#include "text/encodings.hpp"
#include "text/number.hpp"
#include "text/signature.hpp"

#include <cctype>

namespace cmcp {
namespace {

// The lengths keep one text from standing for two links.
std::string signature_for(const signed_file& of, std::string_view owner, std::string_view key)
{
    std::string text = std::to_string(of.expires);
    for (const std::string_view part : {owner, std::string_view(of.sandbox), std::string_view(of.path)})
        text.append(" ").append(std::to_string(part.size())).append(" ").append(part);
    return signature_of(key, text);
}

}  // namespace

std::string signed_query(const signed_file& of, std::string_view owner, std::string_view key, bool named)
{
    const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
    return (named ? "&as=" + percent_encoded(owner, plain) : "") + "&expires=" + std::to_string(of.expires) +
           "&signature=" + signature_for(of, owner, key);
}

std::optional<std::string> owner_of_link(const http_request& request) { return request.parameter("as"); }

bool bears_signature(const http_request& request) { return request.parameter("signature").has_value(); }

bool is_signed_for(const http_request& request, std::string_view owner, std::string_view key, std::int64_t now)
{
    const auto sandbox = request.parameter("sandbox_id"), path = request.parameter("file_path");
    const auto signature = request.parameter("signature"), end = request.parameter("expires");
    const auto expires = read_number<std::int64_t>(end.value_or(""));
    if (!sandbox || !path || !signature || !expires || now > *expires) return false;
    return same_secret(*signature, signature_for({*sandbox, *path, *expires}, owner, key));
}

}  // namespace cmcp
