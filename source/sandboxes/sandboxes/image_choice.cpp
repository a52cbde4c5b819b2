#include "sandboxes/image_choice.hpp"

#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "runs/sandbox_error.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <fstream>
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

image_pulls read_pulls(const settings& config)
try {
    return image_pulls(config.sandbox_image_pull);
} catch (const image_error& problem) {
    throw config_error(std::string("SANDBOX_IMAGE_PULL: ") + problem.what());
}

std::string_view trimmed_quotes(std::string_view text)
{
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    return text;
}

// "Debian GNU/Linux 12 (bookworm)"
const std::string& name_of_system()
{
    static const std::string name = [] {
        std::ifstream file("/etc/os-release");
        for (std::string line; std::getline(file, line);)
            if (line.starts_with("PRETTY_NAME=")) return std::string(trimmed_quotes(std::string_view(line).substr(12)));
        return std::string("Linux");
    }();
    return name;
}

}  // namespace

image_choice::image_choice(const settings& config)
    : config_(config), pulls_(read_pulls(config)), store_(config.sandbox_root / "images")
{
}

std::string image_choice::about_pulls() const
{
    if (pulls_.empty()) return "SANDBOX_IMAGE_PULL, which is empty, would let the server fetch images by itself.";
    return "SANDBOX_IMAGE_PULL lets the server fetch " + joined(config_.sandbox_image_pull, ", ") + ".";
}

void image_choice::not_found(const std::string& name) const
{
    const bool is_fetched = pulls_.allow(name);
    throw sandbox_error("ImageNotFound", "The image \"" + name + "\" is not on this server" +
                                             (is_fetched ? "; create_sandbox with it fetches it again, or " : "; ") +
                                             "its operator can add it: " + command_to_add(name) +
                                             (is_fetched ? "." : ". " + about_pulls()));
}

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

std::string image_choice::of_defaults() const
{
    try {
        return check({});
    } catch (const sandbox_error&) {
        return wanted({});
    }
}

std::string image_choice::names(bool stand_ins) const
{
    constexpr std::size_t most_named = 12;
    std::vector<std::string> named;
    for (const auto& word : config_.sandbox_images)
        if (stand_ins || !word.ends_with(as_native))
            named.push_back(word == "*" ? "any" : word.substr(0, word.find('=')));
    if (named.size() > most_named) {
        named.resize(most_named);
        named.emplace_back("…");
    }
    return joined(named, ", ");
}

std::string image_choice::replaced_by_native(const std::string& image, const std::string& record) const
{
    if (is_native(image) || !is_native(record)) return {};
    return "The sandbox has no image \"" + image.substr(0, 100) + "\": it runs the programs of the server's machine (" +
           name_of_system() + "), for which the image's name stands here (SANDBOX_IMAGES). The server's operator can " +
           "add the image: " + command_to_add(plain_name(image)) + ".";
}

// Empty: this machine's programs. A fetched image has another name in the store than that by which it may be asked for.
std::string image_choice::wanted(const std::string& image) const
{
    const std::string& text = !image.empty() ? image : config_.sandbox_default_image;
    if (is_native(text)) return {};
    std::string name = plain_name(text);
    return pulls_.allow(name) && !store_.find(name) ? fetched_name(name) : name;
}

std::optional<std::string> image_choice::to_fetch(const std::string& image) const
{
    if (pulls_.empty() || config_.sandbox_backend == "firejail") return std::nullopt;
    std::string name = wanted(image);
    if (name.empty() || !pulls_.allow(name) || store_.find(name)) return std::nullopt;
    return name;
}

std::string image_choice::check(const std::string& image) const
{
    std::string name = wanted(image);
    if (name.empty()) return native_image;
    const bool is_fetched = pulls_.allow(name);
    if (!is_fetched && !allows(name))
        throw sandbox_error("ImageNotAllowed", "The image \"" + name + "\" is not allowed; SANDBOX_IMAGES allows " +
                                                   joined(config_.sandbox_images, ", ") + ". " + about_pulls());
    const bool there = store_.find(name).has_value();
    if (!there && !is_fetched && stands_for_native(name)) return native_image;
    if (!there) not_found(name);
    if (config_.sandbox_backend == "firejail")
        throw sandbox_error("NotAvailable",
                            "Firejail's runs have no images; the server's operator can set SANDBOX_BACKEND=native.");
    return name;
}

// The time of a folder is exact to some milliseconds, so that two changes may have the same one.
const std::vector<std::string>& image_choice::there() const
{
    const auto since = store_.names_changed();
    const bool is_same = since.tv_sec == there_since_.tv_sec && since.tv_nsec == there_since_.tv_nsec;
    if (is_same && settled_) return there_;
    settled_ = ::time(nullptr) > since.tv_sec + 1;
    there_since_ = since;
    there_ = store_.names();
    return there_;
}

image image_choice::of(const sandbox_record& where) const
{
    auto there = store_.find(where.image);
    if (!there) not_found(where.image);
    return std::move(*there);
}

}  // namespace cmcp
