#pragma once

#include "posix/unique_fd.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::audit {

/// A file of records: audit-000000000001.jsonl, by the number of its first record.
struct audit_file {
    std::uint64_t first = 0;
    std::filesystem::path path;
};

std::string file_name_of(std::uint64_t first);

/// The files of records in the folder, in their order. Throws audit_error where the folder cannot be read.
std::vector<audit_file> files_in(const std::filesystem::path& folder);

// Beside them:
inline constexpr const char* head_name = "head";              ///< the latest head, with blanks up to head_size
inline constexpr const char* retired_name = "retired.jsonl";  ///< the last heads of files that were removed
inline constexpr const char* lock_name = ".lock";             ///< locked by the process that writes

inline constexpr std::size_t head_size = 1024;

/// Reads a file line by line.
class line_reader {
public:
    /// Throws audit_error.
    explicit line_reader(const std::filesystem::path& file);

    /// A line without its newline, good until the next call. Nothing: the file has ended, and rest() is what stood
    /// behind its last newline. A longer line than a record may be comes in pieces.
    std::optional<std::string_view> next();
    std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

    /// After the end: whether the file has grown.
    bool grown() { return read_more(); }

private:
    bool read_more();

    std::filesystem::path path_;
    unique_fd file_;
    std::string buffer_;
    std::size_t at_ = 0;        // where the next line begins
    std::size_t searched_ = 0;  // up to here there is no newline
};

}  // namespace cmcp::audit
