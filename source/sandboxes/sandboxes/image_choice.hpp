#pragma once

#include "images/image_pulls.hpp"
#include "images/image_store.hpp"
#include "store/sandbox_store.hpp"

#include <optional>
#include <string>

namespace cmcp {

struct settings;

/// Which image a sandbox has: the settings say which names may be asked for, the store has the images. A name never
/// means this machine's programs unless SANDBOX_IMAGES says so. `config` must outlive this.
class image_choice {
public:
    explicit image_choice(const settings& config);  ///< throws config_error

    static bool is_native(const std::string& image);  ///< this machine's programs

    /// The names that may be asked for: "native, python:3.12"; with `stand_ins` also those that mean this machine's
    /// programs.
    std::string names(bool stand_ins) const;

    /// The name for the record of a sandbox for which `image` is asked; empty: SANDBOX_DEFAULT_IMAGE. Throws
    /// sandbox_error (ImageNotAllowed, ImageNotFound, InvalidArgument, NotAvailable).
    std::string check(const std::string& image) const;

    /// The name for the record of a default sandbox, which is made also where the image is not there yet.
    std::string of_defaults() const;

    /// A sentence for who asked for `image` and gets this machine's programs in its place; empty: it is what was asked
    /// for.
    std::string replaced_by_native(const std::string& image, const std::string& record) const;

    /// The name to fetch first for a sandbox for which `image` is asked; nothing: check() says at once. Throws
    /// sandbox_error (InvalidArgument).
    std::optional<std::string> to_fetch(const std::string& image) const;
    const image_pulls& pulls() const { return pulls_; }

    /// The names of the images that are there. Reads the disk where they may have changed.
    const std::vector<std::string>& there() const;

    image of(const sandbox_record& where) const;  ///< as the store has it now; throws ImageNotFound

private:
    std::string wanted(const std::string& image) const;
    bool stands_for_native(const std::string& name) const;
    bool allows(const std::string& name) const;
    std::string about_pulls() const;
    [[noreturn]] void not_found(const std::string& name) const;

    const settings& config_;
    image_pulls pulls_;
    image_store store_;
    mutable std::vector<std::string> there_;  // as of the last look
    mutable timespec there_since_{};
    mutable bool settled_ = false;  // no change can hide behind that time any more
};

}  // namespace cmcp
