#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The demands of an ELF file on the dynamic loader.
struct elf_needed {
    std::uint16_t machine = 0;             ///< EM_X86_64, EM_AARCH64, …
    std::string interpreter;               ///< PT_INTERP; empty for a static program or a library
    std::vector<std::string> libraries;    ///< DT_NEEDED, as written
    std::vector<std::string> search_path;  ///< DT_RUNPATH or DT_RPATH, $ORIGIN replaced by the file's folder
};

/// Reads the dynamic section of the 64-bit ELF file at `path`. Nothing for a file that is no ELF at all (a script,
/// say). Throws std::runtime_error with a sentence naming the file where it is unreadable, truncated or contradicts
/// itself.
std::optional<elf_needed> read_elf_needed(const std::string& path);

/// Finds shared libraries where the dynamic loader would: the file's own search path, /etc/ld.so.conf, the loader's
/// folders.
class library_search {
public:
    library_search();

    /// The path of library `name` for `machine`, with symlinks as found; nothing when there is none.
    std::optional<std::string> find(const std::string& name, std::uint16_t machine,
                                    const std::vector<std::string>& search_path) const;

    /// The loader's folders of this machine that exist, /usr/lib/x86_64-linux-gnu for example.
    const std::vector<std::string>& folders() const { return folders_; }

private:
    std::vector<std::string> folders_;
};

}  // namespace cmcp::sandbox
