#include "sandboxes/sandbox_names.hpp"

#include "sandboxes/sandbox_error.hpp"
#include "text/encodings.hpp"

#include <algorithm>
#include <cctype>

namespace cmcp {

namespace {

bool plain_in_name(unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'); }

}  // namespace

void check_name(std::string_view field, std::string_view name)
{
    const auto allowed = [](char c) { return plain_in_name(static_cast<unsigned char>(c)) || c == ' '; };
    const bool good = !name.empty() && name.size() <= 64 &&
                      std::isalnum(static_cast<unsigned char>(name.front())) != 0 && name.back() != ' ' &&
                      std::all_of(name.begin(), name.end(), allowed) && !name.starts_with("sbx_") &&
                      !name.starts_with("snp_");
    if (good) return;
    throw sandbox_error("InvalidArgument", std::string(field) +
                                               " must have 1 to 64 letters, digits, '.', '_', '-' or spaces, begin "
                                               "with a letter or digit, and not look like a handle.");
}

std::string percent_encoded(std::string_view text)
{
    return percent_encoded(text, [](unsigned char c) { return plain_in_name(c) || c == '/' || c == '~'; });
}

}  // namespace cmcp
