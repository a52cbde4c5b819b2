#pragma once

#include "egress/egress_connector.hpp"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cmcp {

/// A page that could not be fetched. what() is a sentence for the caller: the failure, where it happened, and what may
/// help.
struct fetch_error : std::runtime_error {
    fetch_error(std::string short_reason, const std::string& sentence)
        : std::runtime_error(sentence), reason(std::move(short_reason))
    {
    }
    explicit fetch_error(const egress_error& refusal);

    std::string reason;  ///< one of a fixed set: "timeout", "too_large", "tls", "refused", "bad_answer", …
};

/// The time was over in `phase` (resolving, connecting, TLS, waiting, reading) of a request to `host`. `setting` bounds
/// it.
fetch_error fetch_timeout(const std::string& phase, const std::string& host, std::uint64_t received,
                          std::chrono::milliseconds limit, std::string_view setting);

/// An answer that ended early or is no HTTP. `expected`: bytes of the body, 0 where nothing is known.
fetch_error bad_answer(const boost::system::error_code& failure, const std::string& origin, bool header_came,
                       std::uint64_t received, std::uint64_t expected);

}  // namespace cmcp
