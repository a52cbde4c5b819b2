#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cmcp {

namespace asio = boost::asio;

template <class T = void>
using awaitable = asio::awaitable<T>;

/// Completion token for operations whose failure is expected (end of a pipe, a peer that is gone).
inline constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

}  // namespace cmcp
