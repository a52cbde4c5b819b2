#include "zygote/working_set.hpp"

#include "facilities/sealed_memory.hpp"
#include "facilities/setup_step.hpp"
#include "posix/bytes.hpp"
#include "posix/child_process.hpp"
#include "posix/unique_fd.hpp"
#include "wire/python_start.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

namespace {

constexpr int rehearsal_script_descriptor = 3;
constexpr int report_descriptor = 10;
constexpr const char* program =
    "import json\ndef double(n):\n    return n * 2\nprint(double(3))\n_ = {'a': [double(1)]}\n";

void report(int)
{
    ::prctl(PR_SET_DUMPABLE, 1);  // its files in /proc are its own then
    const std::string bytes = working_set::of_this_process().encode();
    write_all(report_descriptor, bytes);
}

// The streams and the descriptor of the result are /dev/null in this process.
[[noreturn]] void perform(interpreter& python, const run_request& start, int pipe)
{
    const unique_fd script = sealed_memory("script", program);
    if (::dup2(pipe, report_descriptor) < 0 || ::dup2(script.get(), rehearsal_script_descriptor) < 0) ::_exit(1);
    python.after_fork();
    python.take(start);
    python.meets_other_packages();
    python.run(report);
}

// With the packages of a home that is not there: runs with packages of their own do a little more than others.
run_request rehearsed_start(const std::vector<std::string>& argv)
{
    run_request start;
    auto python = python_start::read(argv).value();
    python.isolated = false;
    start.argv = python.argv();
    start.workspace_inside = "/nonexistent";
    return start;
}

}  // namespace

working_set rehearse(interpreter& python, const std::vector<std::string>& argv)
{
    const run_request start = rehearsed_start(argv);
    auto [reading, writing] = make_pipe();
    check(reading.get(), "make a pipe");
    python.before_fork();
    const pid_t child = ::fork();
    if (child == 0) perform(python, start, writing.get());
    python.parent_after_fork();
    check(child, "start a process");
    writing.reset();
    const std::string bytes = read_all(reading.get());
    collect_child(child);
    return working_set::decode(bytes);
}

}  // namespace cmcp::sandbox
