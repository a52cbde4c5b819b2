#pragma once

#include "posix/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

struct run_limits {
    std::chrono::milliseconds wall{30'000};
    std::chrono::seconds cpu{0};             ///< 0: wall time × 2, rounded up
    std::uint64_t memory = 512ull << 20;     ///< bytes, all processes of the run together
    std::uint64_t process_memory = 0;        ///< bytes, private ones of a process of a lasting cell; 0: as `memory`
    std::uint64_t processes = 64;            ///< processes and threads of the run together
    std::uint64_t file_size = 256ull << 20;  ///< bytes, one file
    std::uint64_t tmp_size = 64ull << 20;    ///< bytes, /tmp and /dev/shm each
    std::uint64_t open_files = 1024;         ///< of one process
    std::uint64_t workspace_size = 1024ull
                                   << 20;     ///< bytes that the workspace may hold, with what was there before; 0: any
    std::uint64_t workspace_files = 200'000;  ///< files and folders in it; 0: any
    std::uint64_t output = 64ull << 20;       ///< bytes a stream may bring before the run is ended (output_limit)
};

/// Which programs exist and may be executed inside. `all`: the whole of /usr. Otherwise only `names` (looked up in
/// PATH), the files that they load, and the interpreter of the run; writable folders are then no-exec.
struct program_view {
    bool all = true;
    std::vector<std::string> names;
};

/// A terminal of a run in a lasting cell, in characters. No columns: none.
struct terminal_size {
    std::uint16_t columns = 0, rows = 0;
};

/// Port on loopback at which the first proxy of a browser listens; the others follow. A cell with doors has one there.
inline constexpr std::uint16_t first_proxy_port = 3128;

inline constexpr std::size_t most_doors = 32;

/// Port on loopback of a cell's door for the tools that its programs call.
inline constexpr std::uint16_t tools_port = 3127;

/// Folder in which the programs of a cell find what this project gives them: python/tools.py and bin/tools for its
/// tools, names/ for the names under which programs look for others, and run_request::files in own/.
inline constexpr const char* given_folder = "/run/container-mcp";

/// Where a run looks for programs, if its request does not say. The last folder has names that the machine lacks, such
/// as python where there is only python3.
inline constexpr const char* names_folder = "/run/container-mcp/names";
inline constexpr const char* usual_path = "/usr/local/bin:/usr/bin:/bin:/run/container-mcp/names";
inline constexpr const char* usual_path_of_root =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/container-mcp/names";

/// A file that programs only read.
struct given_file {
    std::string name;  ///< [a-z0-9_.-]{1,64}, but no dot first
    std::string content;
};
inline constexpr std::size_t most_given_bytes = 2 << 20;  ///< of all files of a cell together

/// A browser instead of another program. `argv` has its switches after any first word; the launcher decides on the
/// rest. The channel brings first of all one of these letters with the listening socket of each port and a pidfd of the
/// cell's first process. Then it is descriptors 3 and 4. Above the limit of memory the largest processes end.
struct browser_part {
    static constexpr char own_sandbox = 's', no_own_sandbox = 'n';

    std::uint32_t ports = 0;            ///< 0: the run is no browser
    std::string policy;                 ///< JSON, which it reads as its managed policy
    bool trial = false;                 ///< it only tries whether it could make its own sandbox, and ends
    bool may_lack_own_sandbox = false;  ///< as the launcher's options say; does not travel

    explicit operator bool() const { return ports != 0; }
};

/// The owner on the disk of what root inside of a machine writes, where a server that runs as root has ids for
/// machines: the first of as many ids as a machine has, which belong to nobody. So what one marks as set-uid is
/// nobody's outside.
inline constexpr unsigned machine_owner = 1'900'000'000;

/// An order to run a program. Descriptors are owned; all paths except `workspace` are paths inside.
struct run_request {
    std::vector<std::string> argv;  ///< argv[0] is an absolute path inside, for example /usr/bin/bash
    std::string image;              ///< digest of the image whose root it has; empty: the programs of this machine
    std::string cell;               ///< a name of the principal's lasting cell; empty: a cell of the run's own
    std::string shape;              ///< of a lasting cell: which of those of this name, that differ in what runs see
                                    ///< and may do; empty: the usual one
    std::string principal;          ///< a name of whose it is; runs of one share a view of the machine's files
    std::string working_dir;        ///< absolute inside; empty: the workspace
    std::string workspace;          ///< absolute outside; mounted at `workspace_inside`, working folder and HOME
    std::string workspace_inside = "/workspace";
    std::vector<std::pair<std::string, std::string>> environment;  ///< added to the fixed small one
    program_view programs;
    run_limits limits;
    std::optional<std::string> input;   ///< standard input; nothing: /dev/null
    std::optional<std::string> script;  ///< readable as descriptor 3 (sealed memfd), for the interpreter's bootstrap
    std::shared_ptr<unique_fd>
        channel;             ///< a socket that becomes descriptor 3 instead of a script; the server has the other end
    terminal_size terminal;  ///< it controls the run; one byte with its master comes over `channel` first of all
    bool terminal_speaks = true;  ///< it is input and outputs too, and `channel` ends with the byte
    bool result_channel = false;  ///< descriptor 4 is a pipe to run_result::result, at most 1 MiB
    bool merged = false;          ///< standard error goes where standard output goes: one stream, in order
    bool prepared = false;        ///< a zygote may stand in for argv, when it can become just this (python_start)
    bool data_libraries = false;  ///< and best one that has numpy, pandas and matplotlib loaded
    browser_part browser;
    std::vector<std::uint16_t> doors;  ///< of a lasting cell: the ports at which addresses of names are listened to, in
                                       ///< that order; none: the cell has its loopback alone
    bool machine = false;              ///< of a lasting cell with a workspace: class machine, which has root inside and
                                       ///< a root folder that it may write to
    std::string user;                  ///< the name of the account with the id 1000; empty: usual_account
    bool tools = false;                ///< of a lasting cell: it has the door for tools
    std::vector<given_file> files;     ///< of a lasting cell, each readable at given_folder/own/<name>
    std::string label;                 ///< for the log: the request id
    std::chrono::milliseconds asks_after{0};  ///< when the server asks output_receiver::more_time(); 0: never
};

}  // namespace cmcp::sandbox
