#include "jail/elf_needed.hpp"

#include "posix/unique_fd.hpp"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t headers_max = 512, dynamic_max = 4096, path_max = 4096, needed_max = 1024;

/// Reads pieces of a file whose offsets come from the file itself, and are therefore not to be trusted.
class elf_file {
public:
    explicit elf_file(const std::string& path)
        : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))
    {
        if (!fd_) fail("cannot be opened");
    }

    [[noreturn]] void fail(const std::string& why) const { throw std::runtime_error(path_ + " " + why); }

    std::size_t read_some(std::uint64_t offset, char* to, std::size_t size) const
    {
        if (offset > std::uint64_t{1} << 62) fail("is no valid ELF file: an offset lies outside of it");
        ssize_t got = ::pread(fd_.get(), to, size, static_cast<off_t>(offset));
        if (got < 0) fail("cannot be read");
        return static_cast<std::size_t>(got);
    }

    template <class T>
    T read(std::uint64_t offset) const
    {
        T value;
        if (read_some(offset, reinterpret_cast<char*>(&value), sizeof value) != sizeof value)
            fail("is no valid ELF file: it ends too early");
        return value;
    }

    std::string read_text(std::uint64_t offset) const
    {
        std::string text(path_max, '\0');
        text.resize(read_some(offset, text.data(), text.size()));
        std::size_t end = text.find('\0');
        if (end == std::string::npos) fail("is no valid ELF file: a name in it has no end");
        text.resize(end);
        return text;
    }

    const std::string& path() const { return path_; }

private:
    std::string path_;
    unique_fd fd_;
};

struct dynamic_section {
    std::vector<std::uint64_t> needed;
    std::uint64_t strings = 0;
    std::optional<std::uint64_t> rpath, runpath;
};

std::vector<Elf64_Phdr> read_segments(const elf_file& file, const Elf64_Ehdr& header)
{
    if (header.e_phnum > headers_max) file.fail("is no valid ELF file: it has too many segments");
    if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr))
        file.fail("is no valid ELF file: its segment headers have another size");
    std::vector<Elf64_Phdr> segments;
    for (std::uint64_t i = 0; i != header.e_phnum; ++i)
        segments.push_back(file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
    return segments;
}

void take(dynamic_section& to, const Elf64_Dyn& entry)
{
    if (entry.d_tag == DT_NEEDED) to.needed.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) to.strings = entry.d_un.d_ptr;
    if (entry.d_tag == DT_RPATH) to.rpath = entry.d_un.d_val;
    if (entry.d_tag == DT_RUNPATH) to.runpath = entry.d_un.d_val;
}

dynamic_section read_dynamic(const elf_file& file, const Elf64_Phdr& segment)
{
    dynamic_section section;
    const std::uint64_t count = std::min<std::uint64_t>(segment.p_filesz / sizeof(Elf64_Dyn), dynamic_max);
    for (std::uint64_t i = 0; i != count; ++i) {
        auto entry = file.read<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn));
        if (entry.d_tag == DT_NULL) break;
        take(section, entry);
    }
    if (section.needed.size() > needed_max) file.fail("is no valid ELF file: it needs too many libraries");
    return section;
}

std::uint64_t file_offset(const elf_file& file, const std::vector<Elf64_Phdr>& segments, std::uint64_t address)
{
    for (const Elf64_Phdr& s : segments)
        if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
            return s.p_offset + (address - s.p_vaddr);
    file.fail("is no valid ELF file: its table of names lies outside of it");
}

std::string with_origin(std::string part, const std::string& origin)
{
    for (std::string_view word : {"${ORIGIN}", "$ORIGIN"})
        for (std::size_t at = 0; (at = part.find(word)) != std::string::npos;) part.replace(at, word.size(), origin);
    return part;
}

std::vector<std::string> split_search_path(const std::string& text, const std::string& origin)
{
    std::vector<std::string> folders;
    for (std::size_t from = 0; from <= text.size();) {
        std::size_t to = std::min(text.find(':', from), text.size());
        // A path that is not absolute depends on the working folder of the run, so it cannot be part of the program.
        std::string folder = with_origin(text.substr(from, to - from), origin);
        if (folder.starts_with('/')) folders.push_back(folder);
        from = to + 1;
    }
    return folders;
}

void read_names(const elf_file& file, const std::vector<Elf64_Phdr>& segments, const dynamic_section& dynamic,
                elf_needed& to)
{
    const auto search_path = dynamic.runpath ? dynamic.runpath : dynamic.rpath;
    if (dynamic.needed.empty() && !search_path) return;
    const std::uint64_t names = file_offset(file, segments, dynamic.strings);
    for (std::uint64_t name : dynamic.needed) to.libraries.push_back(file.read_text(names + name));
    const std::string origin = fs::path(file.path()).parent_path().string();
    if (search_path) to.search_path = split_search_path(file.read_text(names + *search_path), origin);
}

bool has_elf_magic(const elf_file& file)
{
    char magic[SELFMAG] = {};
    return file.read_some(0, magic, sizeof magic) == sizeof magic && std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

}  // namespace

std::optional<elf_needed> read_elf_needed(const std::string& path)
{
    elf_file file(path);
    if (!has_elf_magic(file)) return std::nullopt;
    auto header = file.read<Elf64_Ehdr>(0);
    constexpr unsigned char native_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != native_order)
        file.fail("is an ELF file for another kind of machine");
    elf_needed needed;
    needed.machine = header.e_machine;
    const std::vector<Elf64_Phdr> segments = read_segments(file, header);
    for (const Elf64_Phdr& s : segments) {
        if (s.p_type == PT_INTERP) needed.interpreter = file.read_text(s.p_offset);
        if (s.p_type == PT_DYNAMIC) read_names(file, segments, read_dynamic(file, s), needed);
    }
    return needed;
}

namespace {

constexpr int include_depth_max = 8;

std::vector<std::string> expand(const std::string& pattern)
{
    glob_t matches{};
    std::unique_ptr<glob_t, decltype(&::globfree)> owner(&matches, &::globfree);
    if (::glob(pattern.c_str(), 0, nullptr, &matches) != 0) return {};
    return {matches.gl_pathv, matches.gl_pathv + matches.gl_pathc};
}

void read_config(const std::string& path, std::vector<std::string>& folders, int depth)
{
    if (depth == include_depth_max) return;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string first, second;
        words >> first >> second;
        if (first.starts_with('/')) folders.push_back(first);
        if (first != "include") continue;
        if (!second.starts_with('/')) second = "/etc/" + second;
        for (const std::string& included : expand(second)) read_config(included, folders, depth + 1);
    }
}

// Folders that are built into the loaders of Debian and of the other distributions.
std::vector<std::string> built_in_folders()
{
#if defined(__aarch64__)
    const std::string triplet = "aarch64-linux-gnu";
#else
    const std::string triplet = "x86_64-linux-gnu";
#endif
    return {"/usr/lib/" + triplet, "/lib/" + triplet, "/usr/lib64", "/lib64", "/usr/lib", "/lib"};
}

bool fits(const fs::path& file, std::uint16_t machine)
{
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) return false;
    try {
        auto elf = read_elf_needed(file.string());
        return elf && elf->machine == machine;
    } catch (const std::runtime_error&) {
        return false;  // the loader skips such a file too, and looks further
    }
}

}  // namespace

library_search::library_search()
{
    read_config("/etc/ld.so.conf", folders_, 0);
    for (const std::string& folder : built_in_folders()) folders_.push_back(folder);
    std::erase_if(folders_, [](const std::string& folder) { return !fs::is_directory(folder); });
}

std::optional<std::string> library_search::find(const std::string& name, std::uint16_t machine,
                                                const std::vector<std::string>& search_path) const
{
    if (name.starts_with('/')) return fits(name, machine) ? std::optional(name) : std::nullopt;
    for (const auto* list : {&search_path, &folders_})
        for (const std::string& folder : *list)
            if (fits(fs::path(folder) / name, machine)) return (fs::path(folder) / name).string();
    return std::nullopt;
}

}  // namespace cmcp::sandbox
