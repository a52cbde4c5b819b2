#pragma once

#include "images/image.hpp"
#include "posix/unique_fd.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <time.h>

namespace cmcp {

/// The images of a data folder: `<digest>/` holds `root`, `image.json` and `manifest`; `names/` holds a file with a
/// digest for each name. An entry comes and goes by one renaming, so it is whole or not there. The root of an image is
/// the same for all sandboxes. Throws std::system_error where the disk refuses.
class image_store {
public:
    /// `folder`: SANDBOX_ROOT/images; need not be there.
    explicit image_store(std::filesystem::path folder) : folder_(std::move(folder)) {}

    const std::filesystem::path& folder() const { return folder_; }

    /// By a name or by its digest; nothing: there is none.
    std::optional<image> find(const std::string& name_or_digest) const;

    struct entry {
        image of;
        std::vector<std::string> names;
    };
    std::vector<entry> list() const;

    /// All names, without a look at what they name; and what changes with them.
    std::vector<std::string> names() const;
    timespec names_changed() const;

    /// To be held by whoever changes the store; waits for others.
    unique_fd lock() const;

    // While the lock is held:
    void clear_leftovers() const;                ///< of commands that were killed
    std::filesystem::path make_passing() const;  ///< a folder that clear_leftovers() removes
    void keep(const std::filesystem::path& entry, const std::string& digest) const;
    void set_name(const std::string& name, const std::string& digest) const;
    void forget_name(const std::string& name) const;
    void remove(const std::string& digest) const;  ///< with its names
    std::vector<std::string> names_of(const std::string& digest) const;

private:
    std::optional<image> read(const std::string& digest) const;
    std::filesystem::path file_of_name(const std::string& name) const;

    std::filesystem::path folder_;
};

/// Files of an entry.
namespace image_files {
inline constexpr const char* root = "root";
inline constexpr const char* facts = "image.json";
inline constexpr const char* manifest = "manifest";
}  // namespace image_files

std::string facts_text(const image& of);  ///< the content of image.json

std::string read_text(const std::filesystem::path& file);  ///< empty where there is none
void write_text(const std::filesystem::path& file, const std::string& text);

}  // namespace cmcp
