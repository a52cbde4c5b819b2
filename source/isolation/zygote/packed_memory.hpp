#pragma once

#include <cstddef>

namespace cmcp::sandbox {

/// Allocations of the interpreter while it loads modules, side by side in huge pages. A clone then shares a handful of
/// pages instead of thousands, which makes its start and its end cheaper: both cost in proportion to the pages (about 1
/// ms for each 10 MB of small ones).
class packed_memory {
public:
    /// Becomes the source of Python's arenas (PyObject_SetArenaAllocator). Before Python is started.
    packed_memory();

    /// To be called once everything is loaded, and may be called again: gives back what was not used, and joins small
    /// pages (madvise(2), MADV_COLLAPSE: Linux 6.1; without it they stay as they are). A process that writes while a
    /// clone of it lives parts them again. Later arenas come from the kernel one by one.
    void settle();

private:
    static void* take(void* self, std::size_t size);
    static void give_back(void* self, void* arena, std::size_t size);

    char* begin_ = nullptr;
    char* next_ = nullptr;
    char* end_ = nullptr;
};

}  // namespace cmcp::sandbox
