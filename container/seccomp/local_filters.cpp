// Prints the source with the filters of `container-mcp run`, for local/filters.hpp. The build runs it.
#include "jail/seccomp_filter.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cmcp::sandbox;

// Calls by which files are opened or changed: call_watch.cpp judges each.
constexpr std::string_view watched[] = {"open",   "creat",    "openat",    "mkdir",    "mkdirat",   "rmdir",
                                        "unlink", "unlinkat", "rename",    "renameat", "renameat2", "link",
                                        "linkat", "symlink",  "symlinkat", "truncate"};

void print_filter(const char* name, const bpf_program& filter)
{
    std::printf("constexpr sock_filter %s_code[] = {\n", name);
    for (const sock_filter& each : filter.code)
        std::printf("    {%u, %u, %u, %uu},\n", each.code, each.jt, each.jf, each.k);
    std::printf("};\n\n");
}

void print_names()
{
    std::printf("constexpr const char* syscall_names[] = {\n");
    for (int number = 0; number != static_cast<int>(first_unknown_syscall); ++number)
        std::printf("    \"%s\",\n", syscall_name(number).c_str());
    std::printf("};\n\n");
}

}  // namespace

int main()
{
    std::printf("#include \"local/filters.hpp\"\n\nnamespace cmcp::sandbox {\nnamespace {\n\n");
    print_filter("watched", compile_announcing_filter(true, true, watched));
    print_filter("quiet", compile_filter());
    print_names();
    std::printf("}  // namespace\n\n");
    for (const char* name : {"watched", "quiet"})
        std::printf("bpf_program %s_filter() { return {{std::begin(%s_code), std::end(%s_code)}}; }\n", name, name,
                    name);
    std::printf(
        "std::string name_of_call(int number)\n{\n    const bool is_known = number >= 0 && number < "
        "static_cast<int>(std::size(syscall_names));\n"
        "    return is_known ? syscall_names[number] : std::to_string(number);\n}\n\n}  // namespace cmcp::sandbox\n");
}
