#pragma once

#include "async/blocking_pool.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace cmcp {

/// Bytes of input that others have chosen: work over more of them does not belong on the loop.
inline constexpr std::size_t most_on_loop = 64 * 1024;

/// Work that is linear in `bytes` and returns a value: at once where that is little, else on the pool in the turn of
/// `principal`, as long work, which leaves a thread to short work. `work` must own its data, and should return what is
/// cheap to destroy.
template <class F>
awaitable<std::invoke_result_t<F&>> by_size(blocking_pool& pool, std::string principal, std::size_t bytes, F work)
{
    using result = std::invoke_result_t<F&>;
    if (bytes <= most_on_loop) co_return work();
    const auto shared_work = std::make_shared<F>(std::move(work));
    sliced_work<result> whole_work = [shared_work](slice_end) {
        return std::optional<result>(std::in_place, (*shared_work)());
    };
    auto value = co_await pool.run_long(std::move(principal), std::move(whole_work));
    co_return value;
}

/// The same where there may be no pool, which does the work at once.
template <class F>
awaitable<std::invoke_result_t<F&>> by_size(blocking_pool* pool, std::string principal, std::size_t bytes, F work)
{
    if (pool == nullptr) co_return work();
    auto value = co_await by_size(*pool, std::move(principal), bytes, std::move(work));
    co_return value;
}

}  // namespace cmcp
