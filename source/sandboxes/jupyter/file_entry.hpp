#pragma once

#include "async/blocking_pool.hpp"
#include "jupyter/contents.hpp"

#include <sys/stat.h>

#include <string>
#include <type_traits>
#include <utility>

namespace cmcp::jupyter {

/// A file or folder of a workspace, or its absence.
struct contents::entry {
    bool there = false;
    bool is_folder = false;
    std::uint64_t size = 0;
    double modified = 0;  ///< seconds since 1970
};

/// Calls `work` with the workspace of `at` on a thread of the pool. The sandbox counts as used meanwhile.
template <class Work>
awaitable<std::invoke_result_t<Work&, const file_root&>> in_workspace(blocking_pool& pool, sandbox_manager& sandboxes,
                                                                      sandbox_record where, Work work)
{
    const auto use = sandboxes.enter(where);
    auto call = [workspace = sandboxes.places().files(where), work = std::move(work)]() mutable {
        const file_root root(workspace);
        return work(root);
    };
    if constexpr (std::is_void_v<std::invoke_result_t<Work&, const file_root&>>) {
        co_await pool.run(where.owner, std::move(call));
    } else {
        auto value = co_await pool.run(where.owner, std::move(call));
        co_return value;
    }
}

inline constexpr std::string_view checkpoint_id = "checkpoint";

/// ISO 8601.
std::string time_of(double seconds);

std::string type_by_name(std::string_view name, bool is_folder);

/// A model without content.
json::object model_of(std::string_view path, std::string_view type, double modified);

}  // namespace cmcp::jupyter
