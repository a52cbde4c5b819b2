#include "engine/output_frames.hpp"

#include "engine/engine_error.hpp"

#include <algorithm>

namespace cmcp::engine {

void output_frames::read_head()
{
    if (head_[0] > 2 || head_[1] != 0 || head_[2] != 0 || head_[3] != 0)
        throw engine_error(0, "The engine sent output that is in no known form.");
    stream_ = head_[0] == 2 ? sandbox::stream::err : sandbox::stream::out;
    left_ = std::uint32_t{head_[4]} << 24 | std::uint32_t{head_[5]} << 16 | std::uint32_t{head_[6]} << 8 | head_[7];
    head_size_ = 0;
}

std::optional<output_frames::piece> output_frames::next(std::string_view& bytes)
{
    while (left_ == 0 && !bytes.empty()) {
        head_[head_size_++] = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        if (head_size_ == sizeof head_) read_head();
    }
    if (bytes.empty()) return std::nullopt;
    const auto size = std::min<std::size_t>(left_, bytes.size());
    const piece text_piece{stream_, bytes.substr(0, size)};
    bytes.remove_prefix(size);
    left_ -= static_cast<std::uint32_t>(size);
    return text_piece;
}

}  // namespace cmcp::engine
