#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The files of a /proc that is seen from outside its PID namespace, by an open folder of it.
namespace cmcp::sandbox {

/// Empty where it cannot be read, as of a process that has ended meanwhile.
std::string read_text(int directory, const std::string& path, std::size_t most = 64 << 10);

/// The number of a line such as "Threads:  12"; `name` begins with the end of the line before. 0: there is none.
std::uint64_t number_in_line(std::string_view text, std::string_view name);

/// The same in bytes, of a line such as "VmHWM:  123 kB".
std::uint64_t bytes_in_line(std::string_view text, std::string_view name);

/// The process, or a thread of it ("12/task/15") where its first thread has ended and shows no memory and no files.
std::string living_part(int directory, const std::string& process);

std::vector<std::string> threads_of(int directory, const std::string& process);

/// Names in the folder that begin with a digit from `first` on.
std::vector<std::string> numbered_entries(int directory, char first);

}  // namespace cmcp::sandbox
