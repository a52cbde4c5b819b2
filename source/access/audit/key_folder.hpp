#pragma once

#include "audit/signing_key.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::audit {

/// The key that heads are signed with, and during a change the next one, in a folder of mode 0700. A key serves for one
/// file of records. Then it is erased, so that nobody who takes over the machine later can sign other records in place
/// of those. Throws audit_error.
class key_folder {
public:
    /// Makes the folder where it is not there. Keys that are there are read.
    explicit key_folder(std::filesystem::path folder);

    /// The key in use. There is one after choose() and after take_next().
    const signing_key& current() const { return *current_; }
    bool has_current() const { return current_.has_value(); }

    /// Makes the next key, on the disk before this returns. Its public key.
    const std::string& make_next();
    const signing_key& next() const { return *next_; }

    /// The next key becomes the current one, whose secret is overwritten.
    void take_next();

    /// Whether the key with this public key is here. It is the current one then: a change that was cut off is
    /// completed, or taken back.
    bool choose(std::string_view public_key);

private:
    std::optional<signing_key> read(const char* name) const;
    void sync() const;

    std::filesystem::path folder_;
    std::optional<signing_key> current_, next_;
};

}  // namespace cmcp::audit
