#pragma once

#include <sys/types.h>

#include <cstdint>

/// Files without a name that processes hold: nobody else sees what they take. `processes`: the /proc of the processes.
namespace cmcp::sandbox {

/// Bytes of files on `device`; one that is mapped counts with the size of the mapping.
std::uint64_t deleted_files(int processes, dev_t device);

/// Bytes of memory that processes share without a file, up to the end of its mappings, because pages that a process
/// gave up stay in it.
std::uint64_t shared_without_file(int processes);

}  // namespace cmcp::sandbox
