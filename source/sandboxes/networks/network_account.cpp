#include "networks/network_account.hpp"

#include "text/time_text.hpp"

namespace cmcp {

std::string network_account::refusal()
{
    const auto wait = limits_.network_wait(principal_);
    return "Cut: your sandboxes have received and sent as much in an hour as " +
           limits_.refusal_in_words(principal_, &principal_limits::network) + "; try again in " + seconds_text(wait) +
           ".";
}

}  // namespace cmcp
