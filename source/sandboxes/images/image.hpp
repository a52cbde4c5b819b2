#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// A sentence for whoever asked for an image or for work on the store.
struct image_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// An image as the store has it: a root of programs that nobody changes.
struct image {
    std::string digest;  ///< 64 lower-case hexadecimal digits
    std::string source;  ///< where it came from
    std::vector<std::pair<std::string, std::string>> environment;
    std::string working_dir;
    std::uint64_t bytes = 0;  ///< of its files
    std::uint64_t files = 0;
    std::filesystem::path root;

    std::string search_path() const;  ///< its PATH, or a common one

    /// The absolute path, inside, of the program that its PATH finds. Links are followed within the root alone.
    std::optional<std::string> find_program(std::string_view name) const;
};

/// The name as the user gave it, with `:latest` where it has neither tag nor digest. Throws image_error.
std::string image_name(std::string_view text);

/// The digits of `sha256:<64 digits>`, with or without the beginning; nothing: it is no digest.
std::optional<std::string> image_digest(std::string_view text);

[[noreturn]] void throw_errno(const std::filesystem::path& what);  ///< std::system_error

/// The line that adds this image, for error messages.
std::string command_to_add(const std::string& name);

}  // namespace cmcp
