#pragma once

#include "mcp/caller.hpp"
#include "sandboxes/sandbox_manager.hpp"

#include <string>
#include <string_view>

namespace cmcp::jupyter {

/// A path of the API's contents in a sandbox.
struct place {
    sandbox_record where;
    std::string path;    ///< as clients name it, without slashes around it
    std::string inside;  ///< relative to the sandbox's working folder, which is "."
};

/// How clients see sandboxes as folders: the root is the working folder of the caller's default sandbox, and
/// "sandboxes" in it lists all sandboxes by name, with their files below. Throws sandbox_error.
class folders {
public:
    static constexpr std::string_view of_sandboxes = "sandboxes";

    explicit folders(sandbox_manager& sandboxes) : sandboxes_(sandboxes) {}

    static bool lists_sandboxes(std::string_view path) { return path == of_sandboxes; }

    awaitable<place> find(caller who, std::string path) const;

    sandbox_manager& sandboxes() const { return sandboxes_; }

private:
    sandbox_manager& sandboxes_;
};

/// Without the slashes around it.
std::string_view trimmed_path(std::string_view path);

/// The last part of a path, and those before it.
std::string_view name_in(std::string_view path);
std::string_view folder_of(std::string_view path);

/// folder/name; the name where the folder is the root.
std::string joined(std::string_view folder, std::string_view name);

}  // namespace cmcp::jupyter
