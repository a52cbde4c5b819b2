#pragma once

#include "config/setting.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Parse and print of one row of the table, by the type of the member that it fills.
namespace cmcp::makers {

using parse_function = std::function<void(settings&, std::string_view)>;
using print_function = std::function<std::string(const settings&)>;
using conversion = std::pair<parse_function, print_function>;

conversion text(std::string settings::*member, std::size_t longest = 4096);
conversion host(std::string settings::*member);
conversion absolute(std::string settings::*member);
conversion engine(std::string settings::*member);
conversion choice(std::string settings::*member, std::vector<std::string> allowed);
conversion log_level();
conversion log_format();
conversion flag(bool settings::*member);
conversion port(std::uint16_t settings::*member);
conversion path(std::filesystem::path settings::*member, bool make_absolute);
conversion list(std::vector<std::string> settings::*member);
conversion commands(std::vector<std::string> settings::*member);
conversion extensions(std::vector<std::string> settings::*member);
conversion tokens();
conversion url(std::string settings::*member);
conversion url_or_none(std::string settings::*member);  ///< may be empty
conversion seconds(std::chrono::milliseconds settings::*member, std::chrono::milliseconds least,
                   std::chrono::milliseconds most);

/// A whole number of `unit`s, kept in the member multiplied.
template <class T>
conversion number(T settings::*member, std::uint64_t least, std::uint64_t most, std::uint64_t unit = 1);

extern template conversion number(std::size_t settings::*, std::uint64_t, std::uint64_t, std::uint64_t);

}  // namespace cmcp::makers
