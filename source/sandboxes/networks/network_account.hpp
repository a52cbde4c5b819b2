#pragma once

#include "egress/byte_account.hpp"
#include "identity/quotas.hpp"

#include <string>

namespace cmcp {

/// The bytes that the sandboxes of a principal may receive and send together.
class network_account final : public byte_account {
public:
    /// `limits` must outlive this.
    network_account(quotas& limits, std::string principal) : limits_(limits), principal_(std::move(principal)) {}

    bool take(std::uint64_t bytes) override { return limits_.take_network(principal_, bytes); }
    std::string refusal() override;

private:
    quotas& limits_;
    std::string principal_;
};

}  // namespace cmcp
