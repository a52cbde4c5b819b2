#pragma once

#include "images/image_store.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cmcp {

struct image_order {
    std::string source;     ///< docker://NAME, oci:PATH[:TAG], oci-archive:PATH, docker-archive:PATH or dir:PATH
    std::string name;       ///< empty: that behind docker://
    bool insecure = false;  ///< a registry of this machine without TLS
    std::uint64_t most_bytes = 0;
    std::function<void(const char* step)> step{};  ///< hears each step as it begins; may be empty
    std::function<void(int listener)> way_out{};   ///< as in helper_order, for skopeo; empty: the machine's network
};

struct added_image {
    image of;
    std::string name;
    bool was_there = false;               ///< the same content, maybe by another name
    std::optional<std::string> nameless;  ///< the digest that had the name before, where it has no name now
};

/// For a process that adds images: it may open many descriptors, because a deep tree takes one a level, and files are
/// readable for the server's user.
void prepare_to_add();

/// Fetches and unpacks an image by the programs skopeo and umoci, or copies a folder, and keeps it in the store. Throws
/// image_error or std::system_error; then the store is as it was.
added_image add_image(const image_store& store, const image_order& order);

}  // namespace cmcp
