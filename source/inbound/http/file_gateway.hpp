#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace cmcp {

/// A refusal with the HTTP status that fits; what() says what to do. `type` as in sandbox_error; empty: that of the
/// status.
struct gateway_error : std::runtime_error {
    gateway_error(int code, const std::string& sentence, std::string kind = {})
        : std::runtime_error(sentence), status(code), type(std::move(kind))
    {
    }
    int status;
    std::string type;
};

/// An open file: its bytes stay the same file's when the name is given to another.
class file_download {
public:
    virtual ~file_download() = default;
    virtual const std::string& name() const = 0;  ///< the last part of its path, raw
    virtual std::string media_type() const = 0;
    virtual std::uint64_t size() const = 0;
    virtual double modified() const = 0;  ///< seconds since 1970
    virtual std::string tag() const = 0;  ///< changes when the file does (an entity tag's text)

    /// At most `most` bytes from `offset` on; fewer only at the end of the file.
    virtual awaitable<std::string> read(std::uint64_t offset, std::size_t most) = 0;
};

/// A file on its way in. The file appears with finish(), and never when the upload is dropped earlier.
class file_upload {
public:
    virtual ~file_upload() = default;
    virtual awaitable<> write(std::string bytes) = 0;  ///< throws gateway_error
    virtual awaitable<json::object> finish() = 0;      ///< {success, path, size}
};

/// Files of sandboxes for a transport that moves them without the protocol. Sees only what belongs to the principal.
/// Throws gateway_error.
class file_gateway {
public:
    virtual ~file_gateway() = default;

    /// `sandbox`: id or name.
    virtual awaitable<std::unique_ptr<file_download>> open(std::string principal, std::string sandbox,
                                                           std::string path) = 0;

    /// `announced`: bytes that will come, where known, so that too many are refused before the first.
    virtual awaitable<std::unique_ptr<file_upload>> begin(std::string principal, std::string sandbox, std::string path,
                                                          std::optional<std::uint64_t> announced) = 0;
};

}  // namespace cmcp
