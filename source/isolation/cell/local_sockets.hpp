#pragma once

#include "jail/local_call.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The calls of jail/local_call.hpp, in the first process of their cell: it has the right user, folders and network,
/// and no filter. What it waits for keeps only its own cell waiting.
namespace cmcp::sandbox {

/// An order of the launcher, with the descriptors for its packet. `program`: the number of the caller's program.
std::string encode_local_order(std::uint32_t program, const local_call& call);
std::vector<int> descriptors_of(const local_call& call);

class local_sockets {
public:
    /// The file systems that nobody outside the cell sees.
    explicit local_sockets(std::vector<dev_t> own) : own_(std::move(own)) {}

    /// After the order's first byte. Throws std::runtime_error.
    void take(std::string_view rest, std::vector<unique_fd> descriptors);

    bool waits() const { return !waiting_.empty(); }  ///< some are tried again: a listener has no room now
    void try_again();

    struct refusal {
        std::uint32_t program;
        std::string text;
    };
    std::vector<refusal> take_refusals() { return std::exchange(refusals_, {}); }

private:
    struct order {
        std::uint32_t program = 0;
        local_call call;
    };

    bool carry_out(const order& wanted);
    int bind(const local_call& call, int socket) const;
    int connect(const local_call& call, int socket) const;
    bool is_own(int descriptor) const;

    std::vector<dev_t> own_;
    std::vector<order> waiting_;
    std::vector<refusal> refusals_;
};

}  // namespace cmcp::sandbox
