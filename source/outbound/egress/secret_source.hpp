#pragma once

#include "async/blocking_pool.hpp"
#include "egress/cell_authority.hpp"
#include "egress/held_secret.hpp"
#include "egress/secret_masks.hpp"

#include <boost/asio/ssl/context.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace cmcp {

/// The secrets for one host and port.
struct target_secrets {
    std::vector<held_secret> all;
    std::shared_ptr<const secret_masks> masks;
};

/// The secrets of a sandbox as they are at this moment. Io thread only.
class secret_source {
public:
    secret_source() = default;
    secret_source(const secret_source&) = delete;
    secret_source& operator=(const secret_source&) = delete;
    virtual ~secret_source() = default;

    virtual bool concerns(const host& who) = 0;  ///< whether there is a secret for it, at any port
    virtual std::shared_ptr<const target_secrets> at(const host& who, std::uint16_t port) = 0;  ///< null: none
    virtual cell_authority& authority() = 0;
    virtual awaitable<std::shared_ptr<boost::asio::ssl::context>>
    trust() = 0;  ///< of real servers; throws config_error
    virtual void note_use(const held_secret& secret) = 0;
    virtual blocking_pool& pool() = 0;  ///< looks through answers
};

}  // namespace cmcp
