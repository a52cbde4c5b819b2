#pragma once

#include "wire/run_request.hpp"

namespace cmcp {

/// Of runs of the server's own programs that read what may be hostile (a page, a picture) and answer with text.
inline sandbox::run_limits reader_limits()
{
    sandbox::run_limits limits;
    limits.memory = 768ull << 20;  // BeautifulSoup needs up to seventy times the bytes of a page
    limits.processes = 8;
    limits.file_size = 1 << 20;
    limits.tmp_size = 16ull << 20;
    limits.output = 16 << 20;
    return limits;
}

}  // namespace cmcp
