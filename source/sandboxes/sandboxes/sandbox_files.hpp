#pragma once

#include "async/turns.hpp"
#include "files/file_edit.hpp"
#include "files/file_operations.hpp"
#include "sandboxes/file_streams.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "sandboxes/stored_file.hpp"

#include <memory>
#include <optional>
#include <string>

namespace cmcp {

struct settings;

/// Files of sandboxes, in and out. Paths are relative to the working folder or begin with it (/app/results/x); the
/// kernel keeps them in it. Throws sandbox_error and file_error.
class sandbox_files {
public:
    sandbox_files(const settings& config, sandbox_manager& sandboxes, blocking_pool& pool);

    /// Path as sandbox tools take it, made relative to the working folder. Throws sandbox_error (InvalidArgument).
    std::string relative(std::string_view field, const std::string& path) const;

    /// The same for files of `where`. In the default sandbox a leading `/` may mean its root, as in the earlier system.
    /// It stays, because file_path has rules for it.
    std::string path_in(const sandbox_record& where, std::string_view field, const std::string& path) const;

    /// Bytes into a file.
    awaitable<stored_file> put(sandbox_record where, std::string path, std::string bytes);

    /// A file of SANDBOX_UPLOAD_FOLDER into a file, or under its own name into a folder: `path` is one, or ends with
    /// '/'.
    awaitable<stored_file> copy_in(sandbox_record where, std::string path, std::string local);

    awaitable<std::unique_ptr<file_download>> download(sandbox_record where, std::string path);
    awaitable<file_page> list(sandbox_record where, file_list_request what);

    const std::string& home() const;  ///< the working folder, as programs see it

    file_policy any_extension() const;  ///< FILE_MAX_SIZE_MB alone

    // The file tools, which have rules for extensions and sizes.
    awaitable<file_content> read(sandbox_record where, file_read_request what, file_policy policy);
    awaitable<> write(sandbox_record where, file_write_request what, file_policy policy);
    awaitable<edited_file> edit(sandbox_record where, file_edit_request what, file_policy policy);  ///< it has its name
    awaitable<> remove(sandbox_record where, std::string path, file_policy policy);
    awaitable<> move(sandbox_record where, file_move_request what, file_policy policy);

    // For clients of HTTP. `sandbox`: id or name, of the principal; empty: the default one.
    awaitable<std::unique_ptr<file_download>> open(std::string principal, std::string sandbox, std::string path);

    /// `announced`: bytes that will come, where known, so that too many are refused before the first.
    awaitable<std::unique_ptr<file_upload>> begin(std::string principal, std::string sandbox, std::string path,
                                                  std::optional<std::uint64_t> announced);

private:
    awaitable<stored_file> publish(sandbox_record where, written_file written, reservations::share disk);
    std::string local_path(const std::string& named) const;

    const settings& config_;
    sandbox_manager& sandboxes_;
    blocking_pool& pool_;
    turns edits_;
};

}  // namespace cmcp
