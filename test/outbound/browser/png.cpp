#include "test/outbound/browser/png.hpp"

#include <zlib.h>

#include <cstdlib>
#include <stdexcept>

namespace cmcp::test {
namespace {

std::uint32_t number(std::string_view bytes)
{
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(static_cast<std::size_t>(i)));
    return value;
}

int paeth(int a, int b, int c)
{
    const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

std::string inflated(const std::string& packed, std::size_t size)
{
    std::string out(size, '\0');
    uLongf length = size;
    if (::uncompress(reinterpret_cast<Bytef*>(out.data()), &length, reinterpret_cast<const Bytef*>(packed.data()),
                     packed.size()) != Z_OK)
        throw std::runtime_error("bad PNG data");
    return out;
}

}  // namespace

png_image::png_image(std::string_view bytes)
{
    std::string packed;
    for (std::size_t at = 8; at + 12 <= bytes.size();) {
        const auto length = number(bytes.substr(at));
        const auto kind = bytes.substr(at + 4, 4);
        const auto body = bytes.substr(at + 8, length);
        if (kind == "IHDR") {
            width = number(body);
            height = number(body.substr(4));
            channels = body.at(9) == 6 ? 4 : 3;
        }
        if (kind == "IDAT") packed += body;
        at += 12 + length;
    }
    const std::size_t row = std::size_t{width} * channels;
    const std::string raw = inflated(packed, (row + 1) * height);
    pixels.resize(row * height);
    const auto at = [&](std::size_t y, std::size_t x) { return static_cast<unsigned char>(pixels[y * row + x]); };
    for (std::size_t y = 0; y < height; ++y)
        for (std::size_t x = 0; x < row; ++x) {
            const int a = x >= channels ? at(y, x - channels) : 0, b = y > 0 ? at(y - 1, x) : 0;
            const int c = x >= channels && y > 0 ? at(y - 1, x - channels) : 0;
            const int added[] = {0, a, b, (a + b) / 2, paeth(a, b, c)};
            pixels[y * row + x] = static_cast<char>(raw[y * (row + 1) + 1 + x] + added[raw[y * (row + 1)] % 5]);
        }
}

std::uint32_t png_image::rgb(std::uint32_t x, std::uint32_t y) const
{
    return number(std::string(1, '\0') + pixels.substr((std::size_t{y} * width + x) * channels, 3));
}

}  // namespace cmcp::test
