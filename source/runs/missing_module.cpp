#include "runs/missing_module.hpp"

#include "text/ascii.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace cmcp {
namespace {

struct module_packages {
    std::string_view module;
    std::string_view debian;
    std::string_view pip;
};

// Modules that are in wide use; others are called as their package is, as a rule.
constexpr module_packages known_modules[] = {
    {"numpy", "python3-numpy", "numpy"},
    {"pandas", "python3-pandas", "pandas"},
    {"scipy", "python3-scipy", "scipy"},
    {"matplotlib", "python3-matplotlib", "matplotlib"},
    {"sklearn", "python3-sklearn", "scikit-learn"},
    {"seaborn", "python3-seaborn", "seaborn"},
    {"requests", "python3-requests", "requests"},
    {"yaml", "python3-yaml", "pyyaml"},
    {"PIL", "python3-pil", "pillow"},
    {"cv2", "python3-opencv", "opencv-python-headless"},
    {"bs4", "python3-bs4", "beautifulsoup4"},
    {"lxml", "python3-lxml", "lxml"},
    {"sympy", "python3-sympy", "sympy"},
    {"networkx", "python3-networkx", "networkx"},
    {"openpyxl", "python3-openpyxl", "openpyxl"},
    {"pip", "python3-pip", "pip"},
};

std::string missing_module_of(std::string_view errors)
{
    errors = trimmed(errors, " \t\r\n");
    const std::string_view line = errors.substr(errors.rfind('\n') + 1);
    constexpr std::string_view begin = "ModuleNotFoundError: No module named '";
    if (!line.starts_with(begin)) return {};
    const std::string_view name = line.substr(begin.size());
    return std::string(name.substr(0, name.find_first_of(".'")));
}

std::string in_a_sandbox(std::string_view package)
{
    return "create_sandbox, then install_packages_in_sandbox with " + std::string(package) +
           ", then execute_python_code";
}

}  // namespace

std::string missing_module_hint(const std::string& errors, module_source from)
{
    const std::string module = missing_module_of(errors);
    if (module.empty()) return {};
    const auto* row = std::find_if(std::begin(known_modules), std::end(known_modules),
                                   [&](const auto& each) { return each.module == module; });
    const bool known = row != std::end(known_modules);
    const std::string package = known ? std::string(row->pip) : module;
    const std::string begin = "There is no module " + module + " here: ";
    if (from == module_source::sandbox)
        return begin + "install_packages_in_sandbox with " + package + " brings it, if it is a package.";
    std::string server = known ? "install the package " + std::string(row->debian) + " on the server" : "";
    if (from == module_source::server) return begin + (known ? server : "the server's operator can install it") + ".";
    return begin + (known ? server + ", or take a sandbox: " : "if it is a package, take a sandbox: ") +
           in_a_sandbox(package) + ".";
}

}  // namespace cmcp
