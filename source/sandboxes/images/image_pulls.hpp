#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// A name of an image as the store has it once it is fetched: the registry in lower case, `:latest` where there is
/// neither tag nor digest, and without the `library/` that the default registry has for names of one word. Throws
/// image_error.
std::string fetched_name(std::string_view name);

/// Which images may be fetched because a sandbox asks for them: the words of SANDBOX_IMAGE_PULL. A word is a name in
/// which `*` stands for any text. A name without a registry is one of the default registry, in words as in names, and
/// no `*` stands for a registry.
class image_pulls {
public:
    image_pulls() = default;                                      ///< none
    explicit image_pulls(const std::vector<std::string>& words);  ///< throws image_error for a word that is none

    bool empty() const { return words_.empty(); }
    bool allow(std::string_view name) const;  ///< with its tag or digest, as image_name() and fetched_name() have it
    std::vector<std::string> registries() const;  ///< that are named, `host:port`

private:
    std::vector<std::string> words_;
};

}  // namespace cmcp
