#pragma once

#include "wire/program_starter.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// What a process is told that fetches one image for the server. The server, which may be confined, names the
/// image; everything else is decided here, before the server hears a client.
struct fetcher_options {
    std::string store;                   ///< SANDBOX_ROOT/images
    std::uint64_t most_bytes = 0;        ///< of an image
    std::uint64_t most_stored = 0;       ///< of all images; beyond that nothing is fetched
    std::vector<std::string> pulls;      ///< the words of SANDBOX_IMAGE_PULL
    std::vector<std::string> variables;  ///< NAME=value for skopeo and umoci
};

inline constexpr const char* fetcher_role = "--image-fetcher";  ///< the first argument

/// The program at `path`, container-mcp, as a fetcher. The options are its input: a proxy's password may be in them.
sandbox::startable_program fetcher_program(const std::string& path, const fetcher_options& options);

/// A packet of the fetcher to the server.
struct fetch_message {
    enum class kind { step, kept, failed };

    kind is = kind::step;
    std::string text;  ///< the step that begins, the digest, or a sentence
};

std::string encoded_message(const fetch_message& message);
fetch_message decoded_message(const std::string& bytes);

/// The life of the fetcher: takes the name of an image from the socket, fetches it
/// into the store and tells how that goes. The step of skopeo comes with a listening socket: its only way out, where an
/// HTTP proxy is expected. Returns the exit code.
int serve_image_fetch();

}  // namespace cmcp
