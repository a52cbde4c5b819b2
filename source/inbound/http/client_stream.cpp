#include "http/client_stream.hpp"

#include <array>

namespace cmcp {

// A thread copies and writes in one go, so its streams share the room.
asio::mutable_buffer client_stream::scratch()
{
    thread_local std::array<char, longest_record> room;
    return asio::buffer(room);
}

std::size_t client_stream::write_record(asio::const_buffer bytes, error_code& error)
{
    error = {};
    return bytes.size() == 0 ? 0 : tls_->write(static_cast<const char*>(bytes.data()), bytes.size(), error);
}

stream_socket::wait_type client_stream::wanted() const
{
    return tls_->wants() == tls_session::side::output ? stream_socket::wait_write : stream_socket::wait_read;
}

void client_stream::cancel()
{
    error_code ignored;
    socket_.cancel(ignored);
}

void client_stream::end_output()
{
    error_code ignored;
    if (tls_) tls_->end();
    socket_.shutdown(stream_socket::shutdown_send, ignored);
}

void client_stream::close()
{
    error_code ignored;
    socket_.close(ignored);
}

}  // namespace cmcp
