#include "egress/egress_ticket.hpp"

#include "text/base64.hpp"
#include "text/random_id.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t refusals_kept = 32;

}  // namespace

egress_ticket::egress_ticket(std::string label, std::shared_ptr<const egress_policy> policy, egress_limits limits)
    : label_(std::move(label)), user_(random_id()), password_(random_id()), policy_(std::move(policy)), limits_(limits)
{
}

std::string egress_ticket::proxy_authorization() const { return "Basic " + base64_encode(user_ + ":" + password_); }

void egress_ticket::add_refusal(egress_refusal refusal)
{
    refusals_.push_back(std::move(refusal));
    if (refusals_.size() > refusals_kept) refusals_.pop_front();
}

bool egress_ticket::count(std::uint64_t more)
{
    bytes_ += more;
    return bytes_ <= limits_.bytes;
}

bool egress_ticket::enter()
{
    if (connections_ >= limits_.connections) return false;
    ++connections_;
    return true;
}

}  // namespace cmcp
