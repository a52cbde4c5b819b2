#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "zygote/packed_memory.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace cmcp::sandbox {
namespace {

constexpr std::size_t huge_page = 2 << 20;
constexpr std::size_t most = 256 << 20;  // address space; the rest is given back

void* map(std::size_t size)
{
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

std::uintptr_t rounded_up(std::uintptr_t address) { return (address + huge_page - 1) / huge_page * huge_page; }

// Anonymous private memory that can be written has no file name, or is the heap.
bool is_own_memory(const std::string& rights, const std::string& name)
{
    return rights == "rw-p" && (name.empty() || name == "[heap]");
}

void collapse(std::uintptr_t begin, std::uintptr_t end)
{
    for (std::uintptr_t at = rounded_up(begin); at + huge_page <= end; at += huge_page)
        ::madvise(reinterpret_cast<void*>(at), huge_page,
                  MADV_COLLAPSE);  // fails where it does not hold enough, or never can
}

// proc_pid_maps(5)
void collapse_all()
{
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream in(line);
        std::uintptr_t begin = 0, end = 0;
        char dash = 0;
        std::string rights, offset, device, inode, name;
        in >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode >> name;
        if (is_own_memory(rights, name)) collapse(begin, end);
    }
}

void* last_piece = nullptr;  // the last piece, which names the one before, so that no compiler leaves them out

bool take_piece(std::size_t size, std::uintptr_t end_of_pieces)
{
    void* const piece = std::malloc(size);
    const bool is_between = piece != nullptr && reinterpret_cast<std::uintptr_t>(piece) < end_of_pieces;
    if (is_between)
        *static_cast<void**>(piece) = std::exchange(last_piece, piece);
    else
        std::free(piece);
    return is_between;
}

// The free pieces between what the heap holds lie in many pages, and a clone copies each page that it takes one from.
// With all of them taken, what clones allocate lies side by side at the heap's end.
void take_free_pieces()
{
    constexpr std::size_t largest = 64 << 10, kinds_end = 1 << 10, kinds_apart = 16, smallest = 24;
    const struct mallinfo2 now = ::mallinfo2();
    const auto end_of_pieces = reinterpret_cast<std::uintptr_t>(::sbrk(0)) - now.keepcost;
    std::size_t left = now.fordblks + (1 << 20);  // with those that the allocator itself counts as used
    for (std::size_t size = largest; size >= smallest; size -= size > kinds_end ? size / 8 : kinds_apart)
        while (left >= size && take_piece(size, end_of_pieces)) left -= size;
}

}  // namespace

packed_memory::packed_memory()
{
    begin_ = static_cast<char*>(map(most));
    if (begin_ == nullptr) return;
    end_ = begin_ + most;
    next_ = reinterpret_cast<char*>(rounded_up(reinterpret_cast<std::uintptr_t>(begin_)));
    PyObjectArenaAllocator mine{this, take, give_back};
    PyObject_SetArenaAllocator(&mine);
}

void* packed_memory::take(void* self, std::size_t size)
{
    auto& of = *static_cast<packed_memory*>(self);
    if (static_cast<std::size_t>(of.end_ - of.next_) < size) return map(size);
    return std::exchange(of.next_, of.next_ + size);
}

// Address space that was given out once is not used for another arena: loading frees next to nothing.
void packed_memory::give_back(void*, void* arena, std::size_t size) { ::munmap(arena, size); }

void packed_memory::settle()
{
    ::malloc_trim(0);  // whole pages, of which pieces need the first bytes
    if (begin_ != nullptr) {
        const auto unused = reinterpret_cast<char*>(rounded_up(reinterpret_cast<std::uintptr_t>(next_)));
        if (unused < end_) ::munmap(unused, static_cast<std::size_t>(end_ - unused));
        end_ = unused < end_ ? unused : end_;
    }
    take_free_pieces();
    collapse_all();
}

}  // namespace cmcp::sandbox
