#pragma once

#include "files/file_operations.hpp"
#include "files/incoming_file.hpp"
#include "files/text_edits.hpp"

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

namespace cmcp {

struct file_edit_request {
    std::string path;
    std::vector<text_edit> edits;
    std::string encoding{};  ///< empty: UTF-8, or UTF-16 where a byte order mark says so
};

/// An edited file that has not its name yet.
struct edited_file {
    std::shared_ptr<incoming_file> file;
    struct stat read {};  ///< of the file that was read
    std::size_t replaced = 0;
    std::string diff;  ///< as unified_diff()

    /// Replaces the file that was read; throws file_changed when that one has changed.
    void publish() const { file->publish_over(read); }
};

/// Reads a file and writes it anew with its edits; its mode, encoding and line endings stay. Blocks on the disk. Throws
/// file_error: the edits do not fit, the file is binary, a link, read-only or larger than the policy allows.
edited_file prepare_edit(const file_root& root, const file_policy& policy, const file_edit_request& request);

/// The same as long work: a caller may send many edits of a large file.
sliced_work<edited_file> prepare_edit(found_folder folder, file_policy policy, file_edit_request request);

}  // namespace cmcp
