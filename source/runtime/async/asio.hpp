#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cmcp {

namespace asio = boost::asio;

template <class T = void>
using awaitable = asio::awaitable<T>;

/// Completion token for operations whose failure is expected (end of a pipe, a peer that is gone). For co_await at
/// once: deferred, so that the operation needs no coroutine of its own.
inline constexpr auto as_tuple = asio::as_tuple(asio::deferred);

}  // namespace cmcp
