#pragma once

#include "commands/completion.hpp"
#include "config/load_settings.hpp"
#include "secrets/secret_order.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp::command {

/// The words behind `image`.
struct image_line {
    std::string action;  ///< add, list, remove or verify
    std::string what;    ///< source, name or digest; empty: all
    std::string name;
    bool insecure = false;
};

/// The words behind `key`, `principal` and `quota`.
struct identity_line {
    using words = std::vector<std::string>;

    std::string action;  ///< create, list, revoke, rotate; link, unlink, list; set, clear, list, names
    std::string what;    ///< id of a key, or name of a principal
    std::string scopes = "mcp:read mcp:files mcp:run mcp:sandboxes mcp:packages mcp:web";
    std::string profile;
    std::string networks;
    std::string lasts;  ///< "90d"; empty: without end
    std::string note;
    std::string issuer;
    std::string subject;
    words limits;  ///< "runs=2"; of `quota clear` names
};

/// The words behind `secret`.
struct secret_line {
    std::string action;  ///< set, list or remove
    secret_order wanted;
};

/// The server that a command asks; without an address the one that runs for SANDBOX_ROOT.
struct server_choice {
    std::string url;              ///< --server, or CONTAINER_MCP_SERVER of the environment
    std::string token;            ///< CONTAINER_MCP_TOKEN of the environment
    std::string token_by_option;  ///< goes before
    std::string principal;        ///< at the own server: on whose behalf
};

/// The words behind `exec` and `shell`.
struct exec_words {
    server_choice server;
    std::vector<std::string> words;  ///< before --: the sandbox, by name or id; none: the default one
    std::vector<std::string> argv;   ///< behind --
    bool terminal = false;
};

/// The words behind `cp`.
struct copy_words {
    server_choice server;
    std::string from, to;
};

/// The words behind `logs`.
struct logs_words {
    server_choice server;
    std::string what;  ///< a job or a sandbox
    bool follow = false;
};

/// The words behind `call`.
struct call_words {
    server_choice server;
    std::string tool;
    std::vector<std::string> arguments;
    std::string json;    ///< arguments as an object; "-": standard input
    std::string output;  ///< "json"; empty: text
};

/// What is typed so far, for a shell that completes it.
struct completion_words {
    server_choice server;
    std::string start;  ///< of the word that is being typed
    completions possible;
};

/// The words behind the commands that administer a running server.
struct admin_line {
    std::string action;               ///< rm, end, cancel, or one of `cluster`; empty: show
    std::vector<std::string> ids;     ///< of what is ended or moved; of the latter, the server's name as well
    std::string match;                ///< of sandboxes
    bool wait = false;                ///< `drain`: until no sandbox is left
    bool dry_run = false;             ///< `rebuild`: writes nothing
    std::vector<std::string> labels;  ///< `pull`: of the servers
    std::string node;                 ///< the server that `cluster` drains or evens out; empty: this one
    bool all = false;                 ///< of all servers of the cluster
    bool wide = false;                ///< ids are shown whole
    server_choice server;
};

/// The words behind `audit`.
struct audit_line {
    std::string action;              ///< verify, export or tail
    std::string folder;              ///< of a copy; empty: that of the settings
    std::string key;                 ///< by which the audit must begin; empty: any
    std::vector<std::string> heads;  ///< files with published heads
    std::string since, until, principal, kind;
    std::size_t lines = 20;  ///< that tail shows first
    bool follow = false;
};

/// The words behind `connect`.
struct connect_words {
    std::string client;
    std::string url;  ///< of the server; empty: as the settings say
    std::string scope = "user";
    std::string name = "container-mcp";
    std::string profile = "agent";
    std::string key;         ///< "-": from standard input
    std::string create_key;  ///< name of the principal
    std::string file;        ///< in place of the client's usual one
    bool yes = false, dry_run = false, remove = false, stdio = false, follow_link = false;
};

/// The words behind `backup` and `restore`.
struct backup_words {
    std::string file;                        ///< "-": a pipe
    std::string into;                        ///< in place of SANDBOX_ROOT
    std::vector<std::string> only, without;  ///< principals
    bool images = false, force = false;
};

/// The user's command line.
struct command_line {
    std::string command = "serve";  ///< serve, stdio, …; is_admin_command() knows those for admin_line
    settings_sources sources;
    bool json = false;  ///< config, doctor: for programs instead of people
    bool live = false;  ///< health: whether the server answers, not whether it is ready
    image_line image;
    identity_line identity;
    secret_line secret;
    admin_line admin;
    audit_line audit;
    connect_words connect;
    backup_words backup;
    exec_words exec;
    copy_words copy;
    logs_words logs;
    call_words call;
    std::string shell;  ///< of `completion`
    completion_words completing;
};

/// The first word, where a shell asks what may follow: __complete -- WORD…
inline constexpr std::string_view complete_role = "__complete";

/// The program ends at once, because help was shown or the command line is wrong (stderr says why).
struct early_exit {
    int code;
};

/// Throws early_exit, or config_error for --set without a value.
command_line parse_command_line(int argc, char** argv);

/// Each returns, as those of server/serve.hpp do, the program's exit code and throws config_error or std::exception
/// with a sentence for the user.

int doctor(const loaded_settings& loaded, bool json);  ///< 1 when a layer that SANDBOX_REQUIRE names is missing
/// 1 when no server answers on the address of the settings, or the server is not ready; `live`: any answer will do.
int health(const loaded_settings& loaded, bool live);
/// Work on the store of images; 1 when `verify` finds a difference.
int images(const loaded_settings& loaded, const image_line& line, bool json);

/// Becomes the program that runs another one in a local sandbox; `argv` begins with "run". Throws where there is none.
int run_locally(char** argv);
/// Serves the network of such a sandbox (local/network_helper.hpp).
int serve_network_of_run();

/// Runs a program in a sandbox on the standard streams, or a shell on the terminal; the exit code is the program's.
int exec(const loaded_settings& loaded, const exec_words& line);
int shell(const loaded_settings& loaded, const exec_words& line);

/// Copies files and folders into a sandbox or out of it; 1 when something was left out.
int copy(const loaded_settings& loaded, const copy_words& line);

/// Shows the output of a job, or what has run in a sandbox.
int logs(const loaded_settings& loaded, const logs_words& line);

/// Calls a tool; 1 when its result is an error.
int call_tool(const loaded_settings& loaded, const call_words& line);

/// What a shell may put in place of the word that is being typed, a line each: first the program's own words, which
/// need no settings, then names that the server knows.
int show_completions(const completion_words& line);
int complete_names(const loaded_settings& loaded, const completion_words& line);
int show_completion_script(const std::string& shell);

/// Shows or ends what runs in the server of SANDBOX_ROOT; 1 when something could not be ended.
int administer(const loaded_settings& loaded, const std::string& command, const admin_line& line, bool json);
bool is_admin_command(std::string_view command);

/// Says of each part of a cluster whether it works; 1 when one does not. No server needs to run.
int check_cluster(const settings& config, bool json);

/// Writes into etcd which server has which sandbox, as the storage of snapshots knows it, where etcd has lost that.
int rebuild_owners(const settings& config, bool dry_run, bool json);

/// Checks and shows the audit of AUDIT_FOLDER, whether a server runs or not; 1 when `verify` finds that it is not as
/// the server wrote it.
int audits(const loaded_settings& loaded, const audit_line& line, bool json);

/// API keys and the subjects of authorization servers that are principals by name. A running server sees a change
/// within a second.
int keys(const loaded_settings& loaded, const identity_line& line, bool json);
int principals(const loaded_settings& loaded, const identity_line& line, bool json);

/// Writes the server into the file of a client, or takes it out; 1 when the user says no.
int connect_client(const loaded_settings& loaded, const connect_words& line, const environment& variables, bool json);

/// Writes the state of a server, which may run, into an archive; makes a server's folder of one.
int back_up(const loaded_settings& loaded, const settings_sources& sources, const backup_words& line, bool json);
int restore(const loaded_settings& loaded, const backup_words& line, bool json);

/// Limits of single principals; a running server sees a change within a second.
int quota(const loaded_settings& loaded, const identity_line& line, bool json);

/// Secrets that the programs of sandboxes use without seeing them; a running server sees a change at once.
int secrets(const loaded_settings& loaded, const secret_line& line, bool json);

}  // namespace cmcp::command
