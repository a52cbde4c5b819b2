#pragma once

#include "launcher/standby_pool.hpp"

#include <optional>

namespace cmcp::sandbox {

/// Standby runs that have nothing left to do but to execute their program, or, where the program is a shell, to enter
/// its main(). They are clones of the launcher.
class standby_commands final : public standby_pool {
public:
    standby_commands(launcher& keeper, std::size_t each) : standby_pool(keeper, each, false) {}

private:
    std::optional<run_request> shape_for(const start_message& start) override;
    bool launch(std::uint64_t key, run& standby) override;
    void note_loss(bool was_ready, const std::string& why) override;

    unique_fd library_;
    bool may_hold_ = true;  ///< until a program could not be held
};

}  // namespace cmcp::sandbox
