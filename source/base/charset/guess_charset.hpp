#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// The charset that bytes without a declaration are most likely in, by a name that iconv and Python know: UTF-8 where
/// they are that, else what uchardet takes them for. `language` is a language tag ("pl", "zh-TW") or the last label of
/// a host's name, which decides where the bytes alone do not; it may be empty. Looks at 64 KiB from the first bytes
/// that are not ASCII.
std::string guess_charset(std::string_view bytes, std::string_view language = {});

/// "UTF-16LE" or "UTF-16BE" where every second byte of a text is zero; empty elsewhere.
std::string utf16_without_mark(std::string_view bytes);

}  // namespace cmcp
