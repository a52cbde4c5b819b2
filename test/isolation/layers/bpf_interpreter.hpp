#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace cmcp::test {

/// Runs a seccomp program on one system call and returns the kernel's answer. Throws where the program is not valid.
inline std::uint32_t run_bpf(const std::vector<sock_filter>& code, const seccomp_data& call)
{
    std::uint32_t a = 0;
    for (std::size_t at = 0; at < code.size(); ++at) {
        const sock_filter& i = code[at];
        switch (i.code) {
            case BPF_LD | BPF_W | BPF_ABS:
                if (i.k % 4 != 0 || i.k + 4 > sizeof call) throw std::runtime_error("a load outside of the call");
                std::memcpy(&a, reinterpret_cast<const char*>(&call) + i.k, sizeof a);
                break;
            case BPF_ALU | BPF_AND | BPF_K:
                a &= i.k;
                break;
            case BPF_JMP | BPF_JA:
                at += i.k;
                break;
            case BPF_JMP | BPF_JEQ | BPF_K:
                at += a == i.k ? i.jt : i.jf;
                break;
            case BPF_JMP | BPF_JGE | BPF_K:
                at += a >= i.k ? i.jt : i.jf;
                break;
            case BPF_JMP | BPF_JGT | BPF_K:
                at += a > i.k ? i.jt : i.jf;
                break;
            case BPF_RET | BPF_K:
                return i.k;
            default:
                throw std::runtime_error("an instruction that is not known here");
        }
    }
    throw std::runtime_error("the program ends without an answer");
}

}  // namespace cmcp::test
