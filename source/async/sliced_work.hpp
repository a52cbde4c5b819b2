#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace cmcp {

/// Until about when a slice of long work goes on.
using slice_end = std::chrono::steady_clock::time_point;

/// Long work that can be interrupted: a call works until about `until` and gives the result, or nothing when more is
/// left to do. It may throw, and is not called again then. Copies share their progress.
template <class T>
using sliced_work = std::function<std::optional<T>(slice_end until)>;

/// Does all of the work at once.
template <class T>
T whole(sliced_work<T> work)
{
    std::optional<T> result;
    while (!result) result = work(slice_end::max());
    return std::move(*result);
}

}  // namespace cmcp
