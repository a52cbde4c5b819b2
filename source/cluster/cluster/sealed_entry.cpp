#include "cluster/sealed_entry.hpp"

#include "text/signature.hpp"

namespace cmcp {

namespace {

constexpr std::size_t signature_size = 64;

std::string signed_text(std::string_view kind, std::string_view text)
{
    return "cmcp " + std::string(kind) + " " + std::string(text);
}

}  // namespace

std::string sealed_entry(std::string_view key, std::string_view kind, std::string_view text)
{
    return signature_of(key, signed_text(kind, text)) + std::string(text);
}

std::optional<std::string_view> opened_entry(std::string_view key, std::string_view kind, std::string_view sealed)
{
    if (sealed.size() <= signature_size) return std::nullopt;
    const auto text = sealed.substr(signature_size);
    const auto signature = signature_of(key, signed_text(kind, text));
    if (!same_secret(sealed.substr(0, signature_size), signature)) return std::nullopt;
    return text;
}

}  // namespace cmcp
