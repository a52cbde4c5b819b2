#pragma once

#include "config/settings.hpp"
#include "images/image_store.hpp"
#include "store/sandbox_store.hpp"

#include <string>

namespace cmcp {

/// Which image a sandbox has: the settings say which names may be asked for, the store has the images. A name never
/// means this machine's programs unless SANDBOX_IMAGES says so. `config` must outlive this.
class image_choice {
public:
    explicit image_choice(const settings& config) : config_(config), store_(config.sandbox_root / "images") {}

    static bool is_native(const std::string& image);  ///< this machine's programs

    /// The name for the record of a sandbox for which `image` is asked; empty: SANDBOX_DEFAULT_IMAGE. Throws
    /// sandbox_error (ImageNotAllowed, ImageNotFound, InvalidArgument, NotAvailable).
    std::string check(const std::string& image) const;

    image of(const sandbox_record& where) const;  ///< as the store has it now; throws ImageNotFound

private:
    bool stands_for_native(const std::string& name) const;
    bool allows(const std::string& name) const;

    const settings& config_;
    image_store store_;
};

}  // namespace cmcp
