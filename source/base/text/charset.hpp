#pragma once

#include <iconv.h>

#include <string>
#include <string_view>

namespace cmcp {

/// A conversion of iconv(3).
class charset_converter {
public:
    charset_converter(const std::string& to, const std::string& from);
    charset_converter(const charset_converter&) = delete;
    charset_converter& operator=(const charset_converter&) = delete;
    ~charset_converter();

    bool usable() const { return handle_ != reinterpret_cast<iconv_t>(-1); }  ///< the library knows both names

    /// Converts until the input ends or holds what cannot be converted, which is then its beginning; errno, or 0.
    int convert(std::string_view& input, std::string& output) const;

private:
    iconv_t handle_;
};

/// Whether `word` is among the words that spaces separate in `list`.
bool is_word_of(std::string_view list, std::string_view word);

}  // namespace cmcp
