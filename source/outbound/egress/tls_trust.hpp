#pragma once

#include "async/asio.hpp"
#include "streams/byte_stream.hpp"

#include <boost/asio/ssl/context.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// A client context that trusts the system's certificates and those of `extra` (PEM; empty: none), TLS 1.2 and newer.
/// Throws config_error, which names `setting`, when `extra` cannot be used.
boost::asio::ssl::context make_client_context(const std::filesystem::path& extra,
                                              std::string_view setting = "WEB_CA_FILE");

/// The same context for all who name the same file, as long as one of them keeps it: to read the authorities of a
/// machine takes some 25 ms. For the start; it may block.
std::shared_ptr<boost::asio::ssl::context> shared_client_context(const std::filesystem::path& extra,
                                                                 std::string_view setting);

/// The same on the loop, which a thread spares the reading.
awaitable<std::shared_ptr<boost::asio::ssl::context>> find_client_context(std::filesystem::path extra,
                                                                          std::string setting);

/// Asks for a certificate that names `host` (a name, sent as SNI, or an address) and is valid.
void expect_host(SSL* connection, const std::string& host, bool is_address);

/// Goes on in TLS with a server that must be `host`. `trust` must outlive the stream.
awaitable<boost::system::error_code> secure(byte_stream& stream, boost::asio::ssl::context& trust, std::string host,
                                            bool is_address);

/// Why a handshake failed, as the end of a sentence: "its certificate has expired", "it speaks no TLS".
std::string handshake_problem(SSL* connection, const boost::system::error_code& failure);

}  // namespace cmcp
