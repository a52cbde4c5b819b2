#include "engine/image_router.hpp"

namespace cmcp::engine {

awaitable<sandbox::run_result> image_router::run(sandbox::run_request request, sandbox::output_receiver& output)
{
    auto& backend = request.image.empty() ? native_ : engine_;
    return backend.run(std::move(request), output);
}

awaitable<sandbox::layers> image_router::probe()
{
    auto all = co_await native_.probe();
    auto more = co_await engine_.probe();
    all.insert(all.begin(), more.begin(), more.end());
    co_return all;
}

}  // namespace cmcp::engine
