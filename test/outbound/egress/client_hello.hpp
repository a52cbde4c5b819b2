#pragma once

#include <boost/asio/ssl/context.hpp>

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace cmcp::test {

/// The ClientHello that OpenSSL begins with, in one record. `server_name` may be empty.
inline std::string client_hello(const std::string& server_name)
{
    boost::asio::ssl::context context(boost::asio::ssl::context::tls_client);
    const std::unique_ptr<SSL, void (*)(SSL*)> client(::SSL_new(context.native_handle()), ::SSL_free);
    BIO* const out = ::BIO_new(::BIO_s_mem());
    ::SSL_set_bio(client.get(), ::BIO_new(::BIO_s_mem()), out);
    if (!server_name.empty()) SSL_set_tlsext_host_name(client.get(), server_name.c_str());
    ::SSL_set_connect_state(client.get());
    ::SSL_do_handshake(client.get());
    char* text = nullptr;
    const long length = BIO_get_mem_data(out, &text);
    return {text, static_cast<std::size_t>(length)};
}

inline std::string tls_record(const std::string& bytes, char type = 22)
{
    std::string record{type, 3, 1, static_cast<char>(bytes.size() >> 8), static_cast<char>(bytes.size())};
    return record + bytes;
}

/// The same handshake message in records of `size` bytes.
inline std::string in_records(const std::string& hello, std::size_t size)
{
    const std::string message = hello.substr(5);
    std::string records;
    for (std::size_t at = 0; at < message.size(); at += size) records += tls_record(message.substr(at, size));
    return records;
}

/// A ClientHello with these extensions alone.
inline std::string hello_with(const std::string& extensions)
{
    const auto sized = [](const std::string& bytes, int size_bytes) {
        std::string text;
        for (int i = size_bytes - 1; i >= 0; --i) text += static_cast<char>(bytes.size() >> (8 * i));
        return text + bytes;
    };
    const std::string body = std::string(34, '\3') + sized("", 1) + sized("\x13\x01", 2) + sized(std::string(1, 0), 1) +
                             sized(extensions, 2);
    return tls_record("\1" + sized(body, 3));
}

/// The extension server_name with these names in its list.
inline std::string names_extension(const std::string& first, const std::string& second = {})
{
    const auto word = [](std::size_t number) {
        return std::string{static_cast<char>(number >> 8), static_cast<char>(number)};
    };
    std::string list;
    for (const auto& name : {first, second})
        if (!name.empty()) list += std::string(1, 0) + word(name.size()) + name;
    return word(0) + word(list.size() + 2) + word(list.size()) + list;
}

}  // namespace cmcp::test
