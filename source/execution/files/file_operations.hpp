#pragma once

#include "async/sliced_work.hpp"
#include "files/file_policy.hpp"
#include "files/file_root.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

class incoming_file;

struct file_read_request {
    std::string path;
    std::string encoding = "utf-8";        ///< or base64, or a name of files/text_encoding.hpp
    std::uint64_t offset = 0;              ///< bytes
    std::optional<std::uint64_t> limit{};  ///< bytes; without it the whole file is meant
    std::optional<std::uint64_t> line{};   ///< the first line, from 1, instead of offset
    std::optional<std::uint64_t> lines{};  ///< at most so many
};

struct file_content {
    std::string content;                       ///< UTF-8, or base64
    std::uint64_t size = 0;                    ///< bytes of the whole file
    double modified = 0;                       ///< seconds since 1970
    std::optional<std::uint64_t> next_offset;  ///< where to go on when the content stops before the end of the file
    std::optional<std::uint64_t> next_line;    ///< the line that next_offset lies in, where lines were asked for
};

struct file_write_request {
    std::string path;
    std::string content;
    std::string encoding = "utf-8";
};

struct file_move_request {
    std::string source;
    std::string destination;
    bool overwrite = false;
};

struct file_entry {
    std::string name;                   ///< raw bytes, as all paths here: perhaps no UTF-8
    std::string path;                   ///< relative to the root
    std::string type;                   ///< file, directory, symlink, fifo, socket or device
    std::optional<std::uint64_t> size;  ///< bytes; not for directories
    double modified = 0;                ///< seconds since 1970
};

struct file_list_request {
    std::string path = "/";
    std::string pattern{};  ///< empty: everything; see files/glob.hpp
    bool recursive = false;
    std::size_t limit = 1000;                       ///< entries a page
    std::string cursor{};                           ///< next_cursor of the page before; empty: the first page
    std::size_t page_bytes = 200'000;               ///< about so much JSON a page
    std::function<bool(const file_entry&)> fits{};  ///< empty: all entries
    bool without_noise = false;                     ///< is_noise_in_lists(), which the page counts
};

struct file_page {
    std::vector<file_entry> entries;  ///< sorted by path, folder by folder
    std::string next_cursor;          ///< empty: this was the last page
    bool depth_limited = false;       ///< folders too deep to go into were left out
    bool count_limited = false;       ///< so many entries that some were not looked at
    std::size_t left_out = 0;         ///< folders, as without_noise asks
    std::string closed_folder;        ///< the first that its permissions did not let be read; empty: none
};

// Each works beneath `root`, blocks on the disk only and throws file_error. Those that change a workspace act on the
// entry that the path's last component names: on a symbolic link itself, never on its target.

/// Reads a file or a part of it. Bounded by the size that the file had when it was opened and by the policy, never by
/// the end of the file.
file_content read_file(const file_root& root, const file_policy& policy, const file_read_request& request);

/// All bytes of a file, whatever its extension, up to the policy's size.
std::string read_bytes(const file_root& root, const file_policy& policy, const file_path& path);

/// Lists a folder; does not follow symbolic links below it. A page ends at the limit or where its JSON would grow
/// beyond `page_bytes`.
file_page list_folder(const file_root& root, const file_list_request& request);

/// Gives the folder that work is about. Called on the thread that works, because the folder may be made then.
using found_folder = std::function<std::filesystem::path()>;

/// The same as long work: there may be very many names, and a pattern that takes long for each.
sliced_work<file_page> list_folder(found_folder folder, file_list_request request);

/// Atomic: the new file replaces the old one (whose mode it keeps) in one step. Folders that are missing are
/// made. Refused: folders, FIFOs, sockets, devices, links that lead out of the root, files that are read-only.
void write_file(const file_root& root, const file_policy& policy, const file_write_request& request);

/// The same without the last step, which is publish() of what it returns.
std::shared_ptr<incoming_file> prepare_file(const file_root& root, const file_policy& policy,
                                            const file_write_request& request);

/// The same for bytes.
std::shared_ptr<incoming_file> prepare_bytes(const file_root& root, const file_policy& policy, const file_path& path,
                                             std::string_view bytes);

/// Removes a file, a link, a FIFO or a socket; folders are refused.
void delete_file(const file_root& root, const file_policy& policy, const file_path& path);

/// Renames a file, a link or a folder; an existing destination is replaced only by a file and only with `overwrite`.
void move_file(const file_root& root, const file_policy& policy, const file_move_request& request);

}  // namespace cmcp
