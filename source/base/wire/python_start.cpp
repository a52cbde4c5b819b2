#include "wire/python_start.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp::sandbox {
namespace {

constexpr std::array<const char*, 4> options{"-B", "-X", "utf8", "-c"};

// Leaves no name behind but those of the program.
constexpr const char* read_program =
    "with open(5) as program: program = program.read()\nexec(globals().pop('program'))";
static_assert(program_descriptor == 5);

// The clone has -B already, and never the folder of the program on its path.
constexpr std::string_view no_bytecode = "PYTHONDONTWRITEBYTECODE";
constexpr std::string_view safe_path = "PYTHONSAFEPATH";

}  // namespace

std::vector<std::string> python_start::argv() const
{
    std::vector<std::string> words{interpreter};
    if (isolated) words.emplace_back("-I");
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(program);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
}

std::vector<std::string> python_start::command_line() const
{
    python_start shown{interpreter, isolated, read_program, arguments};
    return shown.argv();
}

std::optional<python_start> python_start::read(const std::vector<std::string>& argv)
{
    python_start start;
    start.isolated = argv.size() > 1 && argv[1] == "-I";
    const std::size_t first = start.isolated ? 2 : 1;
    if (argv.size() < first + options.size() + 1) return std::nullopt;
    const auto begin = argv.begin() + static_cast<std::ptrdiff_t>(first);
    if (!std::equal(options.begin(), options.end(), begin)) return std::nullopt;
    start.interpreter = argv[0];
    start.program = argv[first + options.size()];
    start.arguments.assign(begin + static_cast<std::ptrdiff_t>(options.size()) + 1, argv.end());
    return start;
}

bool suits_a_clone(const python_start& start, const std::vector<std::pair<std::string, std::string>>& environment)
{
    if (start.isolated) return true;
    bool safe = false;
    for (const auto& [name, value] : environment) {
        safe |= name == safe_path && !value.empty();
        if (name.starts_with("PYTHON") && name != safe_path && name != no_bytecode) return false;
    }
    return safe;
}

}  // namespace cmcp::sandbox
