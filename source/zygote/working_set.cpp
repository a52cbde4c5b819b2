#include "zygote/working_set.hpp"

#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace cmcp::sandbox {
namespace {

const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));

// proc_pid_pagemap(5)
constexpr std::uint64_t is_present = 1ull << 63;
constexpr std::uint64_t is_of_file = 1ull << 61;
constexpr std::uint64_t is_exclusive = 1ull << 56;

struct area {
    std::uintptr_t begin, end;
};

std::optional<area> private_area(const std::string& line)
{
    std::istringstream in(line);
    area next{};
    char dash = 0;
    std::string rights;
    in >> std::hex >> next.begin >> dash >> next.end >> rights;
    const bool of_kernel = line.ends_with("[vdso]") || line.ends_with("[vvar]") || line.ends_with("[vsyscall]") ||
                           line.find("[vvar_") != std::string::npos;
    const bool readable = rights.size() == 4 && rights[0] == 'r' && rights[3] == 'p';
    return in && readable && !of_kernel ? std::optional(next) : std::nullopt;
}

std::vector<std::uint64_t> pages_of(int pagemap, const area& of)
{
    std::vector<std::uint64_t> pages((of.end - of.begin) / page_size);
    const auto offset = static_cast<off_t>(of.begin / page_size * sizeof(std::uint64_t));
    const ssize_t got = ::pread(pagemap, pages.data(), pages.size() * sizeof(std::uint64_t), offset);
    pages.resize(got > 0 ? static_cast<std::size_t>(got) / sizeof(std::uint64_t) : 0);
    return pages;
}

}  // namespace

working_set working_set::of_this_process()
{
    working_set set;
    const unique_fd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        const auto where = private_area(line);
        if (!where) continue;
        std::uintptr_t at = where->begin;
        for (const std::uint64_t page : pages_of(pagemap.get(), *where)) {
            const bool of_file = (page & is_of_file) != 0;
            if ((page & is_present) != 0 && (of_file || (page & is_exclusive) != 0)) set.add(at, !of_file);
            at += page_size;
        }
    }
    return set;
}

void working_set::add(std::uintptr_t page, bool written)
{
    if (!ranges_.empty() && ranges_.back().written == written && ranges_.back().begin + ranges_.back().bytes == page)
        ranges_.back().bytes += static_cast<std::uint32_t>(page_size);
    else
        ranges_.push_back({page, static_cast<std::uint32_t>(page_size), written});
}

std::string working_set::encode() const
{
    std::string bytes(ranges_.size() * sizeof(range), '\0');
    std::memcpy(bytes.data(), ranges_.data(), bytes.size());
    return bytes;
}

working_set working_set::decode(std::string_view bytes)
{
    working_set known;
    known.ranges_.resize(bytes.size() / sizeof(range));
    std::memcpy(known.ranges_.data(), bytes.data(), known.ranges_.size() * sizeof(range));
    return known;
}

void working_set::make_present() const
{
    for (const range& each : ranges_)
        ::madvise(reinterpret_cast<void*>(each.begin), each.bytes,
                  each.written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

}  // namespace cmcp::sandbox
