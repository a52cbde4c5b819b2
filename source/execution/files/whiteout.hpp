#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace cmcp {

/// The mark with which an overlay says that a file below is not there any more: a device that there is none of. Any
/// user may make it (Linux 5.8).
inline bool is_whiteout(const struct stat& status) { return S_ISCHR(status.st_mode) && status.st_rdev == 0; }

/// False: see errno.
inline bool make_whiteout(int folder, const char* name) { return ::mknodat(folder, name, S_IFCHR, makedev(0, 0)) == 0; }

}  // namespace cmcp
