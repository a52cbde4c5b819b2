#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace cmcp {

/// A refusal or failure that the caller can correct; what() is a sentence that says what to do.
struct file_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// There is nothing at the path.
struct file_missing : file_error {
    using file_error::file_error;
};

/// The file is not what it was when it was read.
struct file_changed : file_error {
    using file_error::file_error;
};

/// The bytes are not text of the encoding that was asked for.
struct file_not_text : file_error {
    using file_error::file_error;
};

}  // namespace cmcp
