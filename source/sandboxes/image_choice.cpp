#include "sandboxes/image_choice.hpp"

#include "sandboxes/sandbox_error.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <string_view>

namespace cmcp {
namespace {

constexpr const char* native_image = "native";
constexpr std::string_view as_native = "=native";  // ends a word of SANDBOX_IMAGES

std::string plain_name(const std::string& image)
try {
    return image_name(image);
} catch (const image_error& problem) {
    throw sandbox_error("InvalidArgument", problem.what());
}

// A word of SANDBOX_IMAGES that is no name allows nothing.
bool is_name_of(const std::string& word, const std::string& name)
try {
    return image_name(word) == name;
} catch (const image_error&) {
    return false;
}

[[noreturn]] void image_not_found(const std::string& name)
{
    throw sandbox_error("ImageNotFound", "The image \"" + name + "\" is not on this server; its operator can add it: " +
                                             command_to_add(name));
}

}  // namespace

bool image_choice::is_native(const std::string& image) { return image.empty() || image == native_image; }

bool image_choice::stands_for_native(const std::string& name) const
{
    return std::ranges::any_of(config_.sandbox_images, [&](const std::string& word) {
        return word.ends_with(as_native) && is_name_of(word.substr(0, word.size() - as_native.size()), name);
    });
}

bool image_choice::allows(const std::string& name) const
{
    if (is_name_of(config_.sandbox_default_image, name)) return true;
    return std::ranges::any_of(config_.sandbox_images, [&](const std::string& word) {
        return word == "*" || is_name_of(word.substr(0, word.find('=')), name);
    });
}

std::string image_choice::check(const std::string& image) const
{
    const std::string wanted = !image.empty() ? image : config_.sandbox_default_image;
    if (is_native(wanted)) return native_image;
    std::string name = plain_name(wanted);
    if (!allows(name))
        throw sandbox_error("ImageNotAllowed", "The image \"" + name + "\" is not allowed; SANDBOX_IMAGES allows " +
                                                   joined(config_.sandbox_images, ", ") + ".");
    const bool there = store_.find(name).has_value();
    if (!there && stands_for_native(name)) return native_image;
    if (!there) image_not_found(name);
    if (config_.sandbox_backend == "firejail")
        throw sandbox_error("NotAvailable",
                            "Firejail's runs have no images; the server's operator can set SANDBOX_BACKEND=native.");
    return name;
}

image image_choice::of(const sandbox_record& where) const
{
    auto there = store_.find(where.image);
    if (!there) image_not_found(where.image);
    return std::move(*there);
}

}  // namespace cmcp
