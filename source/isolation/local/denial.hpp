#pragma once

#include "wire/wire.hpp"

#include <cstdint>
#include <string>

namespace cmcp::sandbox {

/// Something that a program tried and the sandbox refused.
struct denial {
    enum class kind : std::uint8_t { read, write, connect, call };

    kind what = kind::call;
    std::string target;      ///< absolute path; host or address; a system call or a sentence
    std::uint16_t port = 0;  ///< connect; 0: any

    bool operator==(const denial&) const = default;
};

template <class Wire>
void fields(Wire& wire, wired<Wire, denial>& of)
{
    wire(of.what, of.target, of.port);
}

}  // namespace cmcp::sandbox
