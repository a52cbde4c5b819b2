#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "egress/egress_ticket.hpp"
#include "packages/package_index.hpp"
#include "posix/unique_fd.hpp"
#include "web/http_client.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace cmcp {

/// Where the packages of a fetching run come from.
struct package_source {
    http_client& client;
    blocking_pool& pool;                    ///< reads pages
    std::shared_ptr<egress_ticket> ticket;  ///< bounds the hosts and the bytes
    std::shared_ptr<package_index> index;
    std::string authorization;  ///< for the index alone; empty: none
    std::string owner;          ///< of the sandbox
    std::chrono::milliseconds timeout;
};

/// The only way out of a run that fetches packages: the server gets the pages and files of an index for it, by GET
/// alone, until the other end of `channel` is closed or the coroutine is cancelled. The run is not trusted. Frames are
/// a kind, a number and the length of the data (four bytes each, big end first), then the data. The run sends 'g' with
/// an address; the answer is 'h' {"status", "type", "length"}, 'd' data, and at last 'e', or 'x' when it was cut off.
/// `source.client` and `source.pool` must outlive the coroutine. Io thread only.
awaitable<> open_package_door(unique_fd channel, package_source source);

}  // namespace cmcp
