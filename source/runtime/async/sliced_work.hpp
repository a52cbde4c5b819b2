#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace cmcp {

/// Until about when a slice of long work goes on.
using slice_end = std::chrono::steady_clock::time_point;

/// Long work that can be interrupted: a call works until about `until` and gives the result, or nothing when more is
/// left to do. It may throw, and is not called again then. Copies share their progress.
template <class T>
using sliced_work = std::function<std::optional<T>(slice_end until)>;

/// The result of `work` in another form, which its last slice makes. So what is large ends on the thread that works.
template <class T, class Change>
auto then(sliced_work<T> work, Change change)
{
    using changed = std::invoke_result_t<Change&, T>;
    return sliced_work<changed>([work = std::move(work), change = std::move(change)](slice_end until) mutable {
        std::optional<T> done = work(until);
        return done ? std::optional<changed>(change(std::move(*done))) : std::nullopt;
    });
}

/// Does all of the work at once.
template <class T>
T whole(sliced_work<T> work)
{
    std::optional<T> result;
    while (!result) result = work(slice_end::max());
    return std::move(*result);
}

}  // namespace cmcp
