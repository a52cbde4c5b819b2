#pragma once

#include "async/asio.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cmcp {

/// A chunk on its way into the bucket or out of it.
struct passing_chunk {
    std::filesystem::path folder;  ///< in which a file has its id as name
    std::string handle;            ///< of its sandbox
    std::uint64_t epoch = 0;
    std::string id{};
};

/// Passes all chunks, so many at once, until one has failed: the reason, or null.
awaitable<std::exception_ptr> pass_chunks(asio::any_io_executor executor, std::vector<passing_chunk> all,
                                          std::size_t at_once, std::function<awaitable<>(passing_chunk)> pass);

}  // namespace cmcp
