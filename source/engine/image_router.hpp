#pragma once

#include "sandbox/backend.hpp"

namespace cmcp::engine {

/// Sends runs that name an image to the engine and all others to the native backend; neither ever stands in for the
/// other. Both must outlive this.
class image_router final : public sandbox::backend {
public:
    image_router(sandbox::backend& native, sandbox::backend& engine) : native_(native), engine_(engine) {}

    awaitable<sandbox::run_result> run(sandbox::run_request request, sandbox::output_receiver& output) override;
    awaitable<sandbox::layers> probe() override;  ///< of both
    std::string_view name() const override { return native_.name(); }

private:
    sandbox::backend& native_;
    sandbox::backend& engine_;
};

}  // namespace cmcp::engine
