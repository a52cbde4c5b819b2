#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// Where runs see launcher_options::data.
inline constexpr const char* data_path = "/data";

/// A Python interpreter that is kept loaded, so that a run is a clone of it instead of a start of its own.
struct zygote_options {
    std::string path;     ///< absolute path of container-mcp-zygote
    std::string profile;  ///< which modules are loaded: stdlib, data (numpy, pandas, matplotlib too), or auto: one of
                          ///< each, the second once a run is best served by it
    std::uint32_t waiting = 2;      ///< clones that wait, confined, for the next run; 0: clone when a run comes
    std::uint32_t runs = 1000;      ///< clones of one interpreter; then a new one, with a new hash seed, replaces it
    std::vector<std::string> argv;  ///< how the interpreter is started; it may stand in for runs of the same program
    std::vector<std::pair<std::string, std::string>> environment;  ///< beside that of every run
};

/// The highest limits that a run may be given, whatever is asked for; 0: any.
struct run_maxima {
    std::uint64_t memory = 0, processes = 0, file_size = 0, tmp_size = 0, open_files = 0;
};

/// The browser of this machine.
struct browser_program {
    std::string path;                   ///< absolute
    std::uint64_t memory = 0;           ///< bytes, all processes of one together
    bool may_lack_own_sandbox = false;  ///< it also runs where it cannot make its own sandbox
};

/// What cells of class machine may be.
enum class machines_allowed : std::uint8_t { none, flat, nested };

/// The options of a launcher, decided before the server handles its first byte. The server cannot change them
/// afterwards: a launcher that replaces a lost one gets the same.
struct launcher_options {
    std::string workspaces{};  ///< absolute folder below which every workspace must be; empty: anywhere
    std::string images{};      ///< absolute folder of the store of images; empty: runs have none
    std::string data{};        ///< absolute folder that runs see as data_path, for reading; empty: none
    std::string firejail{};    ///< absolute path of the program that confines runs in the launcher's stead; empty: none
    std::size_t waiting = 0;   ///< cells that are ready for the shape of the run that came last
    bool use_cgroups = true;   ///< of both versions, as far as they may be used here
    std::size_t cells = 64;    ///< lasting cells at once, of which one principal has at most half
    run_maxima most{};
    std::optional<zygote_options> zygote{};              ///< for runs that are `prepared`
    browser_program browser{};                           ///< no path: there is none
    machines_allowed machines = machines_allowed::none;  ///< nested: they may mount, and make namespaces of their own
};

/// For the launcher's standard input, because the options are longer than a command line should be. Decoding throws
/// std::runtime_error when the bytes end too early.
std::string encode_options(const launcher_options& options);
launcher_options decode_options(std::string_view bytes);

}  // namespace cmcp::sandbox
