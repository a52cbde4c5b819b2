#pragma once

#include "sandbox/output_receiver.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace cmcp::sandbox {

/// Keeps the beginning of what a run prints, so many bytes of each stream.
class output_head final : public output_receiver {
public:
    explicit output_head(std::size_t most_out = 4096, std::size_t most_err = 4096)
        : most_out_(most_out), most_err_(most_err)
    {
    }

    awaitable<> receive(stream from, std::string_view bytes) override
    {
        std::string& text = from == stream::out ? out : err;
        const std::size_t most = from == stream::out ? most_out_ : most_err_;
        text.append(bytes, 0, most - std::min(most, text.size()));
        co_return;
    }

    std::string both() const { return out + err; }

    std::string out, err;

private:
    std::size_t most_out_, most_err_;
};

}  // namespace cmcp::sandbox
