#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The rules of FILE_MAX_SIZE_MB and FILE_ALLOWED_EXTENSIONS.
class file_policy {
public:
    file_policy(std::uint64_t max_size, std::vector<std::string> extensions);

    std::uint64_t max_size() const { return max_size_; }  ///< bytes

    /// Whether the name's last extension (any case) is allowed. A name without one (also ".profile") is only when the
    /// empty extension is.
    bool allows(std::string_view path) const;

    /// Throws file_error when the name's last extension is not allowed; `field` is the argument to name. `advice` ends
    /// the sentence.
    void check_extension(std::string_view field, std::string_view path, std::string_view advice = {}) const;

    /// Throws file_error when `size` bytes are more than allowed; `advice` is added to the sentence.
    void check_size(std::string_view path, std::uint64_t size, std::string_view advice) const;

    static std::string extension_of(std::string_view path);  ///< lower case, without the dot

private:
    std::string allowed_list() const;

    std::uint64_t max_size_;
    std::vector<std::string> extensions_;
    bool any_extension_ = false;
};

}  // namespace cmcp
