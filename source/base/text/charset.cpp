#include "text/charset.hpp"

#include <array>
#include <cerrno>

namespace cmcp {

charset_converter::charset_converter(const std::string& to, const std::string& from)
    : handle_(::iconv_open(to.c_str(), from.c_str()))
{
}

charset_converter::~charset_converter()
{
    if (usable()) ::iconv_close(handle_);
}

int charset_converter::convert(std::string_view& input, std::string& output) const
{
    std::array<char, 32768> piece;
    char* in = const_cast<char*>(input.data());  // iconv's interface; the input is not changed
    std::size_t left = input.size();
    int error = E2BIG;
    while (error == E2BIG) {
        char* out = piece.data();
        std::size_t room = piece.size();
        error = ::iconv(handle_, &in, &left, &out, &room) == static_cast<std::size_t>(-1) ? errno : 0;
        output.append(piece.data(), piece.size() - room);
    }
    input.remove_prefix(input.size() - left);
    return error;
}

bool is_word_of(std::string_view list, std::string_view word)
{
    const std::string wanted = " " + std::string(word) + " ";
    return wanted.find(' ', 1) == wanted.size() - 1 &&
           (" " + std::string(list) + " ").find(wanted) != std::string::npos;
}

}  // namespace cmcp
