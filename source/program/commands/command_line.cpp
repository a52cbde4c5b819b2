#include "commands/commands.hpp"

#include "config/config_error.hpp"
#include "local/run_words.hpp"
#include "text/words.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <iostream>
#include <string_view>

namespace cmcp::command {

namespace {

struct short_option {
    const char* flag;
    const char* key;
    const char* description;
};

constexpr std::array<short_option, 6> short_options{{
    {"--host", "MCP_HOST", "Address to listen on (127.0.0.1)"},
    {"--port", "MCP_PORT", "Port to listen on (8000)"},
    {"--sandbox-root", "SANDBOX_ROOT", "Folder that holds the sandboxes"},
    {"--log-level", "LOG_LEVEL", "DEBUG, INFO, WARNING or ERROR"},
    {"--log-format", "LOG_FORMAT", "text or json"},
    {"--log-file", "LOG_FILE", "File for the log instead of stderr"},
}};

struct raw_options {
    std::array<std::string, short_options.size()> shorts;
    std::vector<std::string> set;
    std::string env_file, toml_file, output;
    bool debug = false, json = false, live = false, version = false;
    image_line image;
    identity_line identity;
    secret_line secret;
    admin_line admin;
    audit_line audit;
    connect_words connect;
    backup_words backup;
    server_choice server;
    exec_words exec;
    copy_words copy;
    logs_words logs;
    call_words call;
    std::string shell;
};

void add_options(CLI::App& app, raw_options& into)
{
    for (std::size_t i = 0; i < short_options.size(); ++i) {
        app.add_option(short_options[i].flag, into.shorts[i], short_options[i].description);
    }
    app.add_option("--set", into.set, "Any setting, for example --set BASH_TIMEOUT_MAX=60 (may be repeated)")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--env-file", into.env_file, "KEY=value lines (volume/config/custom.env)");
    app.add_option("--config", into.toml_file, "TOML file (config.toml)");
    app.add_flag("--debug", into.debug, "Log everything");
    app.add_flag("--version", into.version, "Show the version");
}

// Another program reads them (isolation/local); here they are for --help and for shells that complete them.
void add_local_run(CLI::App& app)
{
    auto* run = app.add_subcommand("run", "Run a program of this machine in a local sandbox: run [OPTIONS] -- COMMAND");
    for (const auto& each : sandbox::run_options) {
        if (each.value == nullptr)
            run->add_flag(each.name, each.about);
        else
            run->add_option(each.name, each.about)->type_name(each.value);
    }
}

void add_image_commands(CLI::App& image, image_line& into, bool& json)
{
    auto* add = image.add_subcommand("add", "Fetch and unpack an image with skopeo and umoci, or copy a folder");
    add->add_option("source", into.what,
                    "docker://NAME, oci:PATH[:TAG], oci-archive:PATH, docker-archive:PATH, dir:PATH")
        ->required();
    add->add_option("--name", into.name, "Name for sandboxes (default: the one after docker://)");
    add->add_flag("--insecure", into.insecure, "Without TLS, only for a registry on this machine");
    image.add_subcommand("list", "Show names, digests and sizes")->add_flag("--json", json, "Print JSON");
    image.add_subcommand("remove", "Remove a name, and the image with its last name or by its digest")
        ->add_option("image", into.what, "Name or sha256:DIGEST")
        ->required();
    image.add_subcommand("verify", "List files that have changed since they were added")
        ->add_option("image", into.what, "Name or sha256:DIGEST (all images)");
    image.require_subcommand(1);
}

void add_key_commands(CLI::App& key, identity_line& into, bool& json)
{
    auto* create = key.add_subcommand("create", "Make a key and show it once");
    create->add_option("principal", into.what, "Owner of everything that is made with the key")->required();
    create->add_option("--scopes", into.scopes, "Separated by blanks (all but mcp:admin)");
    create->add_option("--profile", into.profile, "Profile of tools for its clients");
    create->add_option("--networks", into.networks, "Addresses and networks from which it may be used (any)");
    create->add_option("--lasts", into.lasts, "Time until it expires: 12h, 90d, 1y (never)");
    create->add_option("--limit", into.limits, "Quota of the principal, such as runs=2 (may be repeated)")
        ->type_name("NAME=NUMBER")
        ->allow_extra_args(false);
    create->add_option("--note", into.note, "Note for people");
    create->add_flag("--json", json, "Print JSON");
    key.add_subcommand("list", "Show the keys, without their secrets")->add_flag("--json", json, "Print JSON");
    key.add_subcommand("revoke", "Revoke a key at once")->add_option("key", into.what, "Id of the key")->required();
    auto* rotate = key.add_subcommand("rotate", "Make a key with the same rights, and revoke the old one");
    rotate->add_option("key", into.what, "Id of the old key")->required();
    rotate->add_flag("--json", json, "Print JSON");
    key.require_subcommand(1);
}

void add_principal_commands(CLI::App& principal, identity_line& into, bool& json)
{
    auto* link = principal.add_subcommand("link", "Make a person of an authorization server a named principal");
    link->add_option("principal", into.what, "Name of the principal, as in keys or MCP_AUTH_TOKENS")->required();
    auto* unlink = principal.add_subcommand("unlink", "Remove such a link");
    for (auto* each : {link, unlink}) {
        each->add_option("--issuer", into.issuer, "As in AUTH_ISSUERS")->required();
        each->add_option("--subject", into.subject, "The person in its tokens (sub)")->required();
    }
    principal.add_subcommand("list", "Show the links")->add_flag("--json", json, "Print JSON");
    principal.require_subcommand(1);
}

void add_quota_commands(CLI::App& quota, identity_line& into, bool& json)
{
    auto* set = quota.add_subcommand("set", "Set limits of a principal");
    auto* clear = quota.add_subcommand("clear", "Remove them: everybody's limits apply again");
    for (auto* each : {set, clear})
        each->add_option("principal", into.what, "The name of a key, a token or a link")->required();
    set->add_option("limits", into.limits, "Such as runs=2 calls=60; `quota names` lists the names")->required();
    clear->add_option("limits", into.limits, "Names of limits (all)");
    for (auto* each : {quota.add_subcommand("list", "Show the limits of single principals"),
                       quota.add_subcommand("names", "Show the names of limits, and everybody's limits")})
        each->add_flag("--json", json, "Print JSON");
    quota.require_subcommand(1);
}

void add_secret_commands(CLI::App& secret, secret_order& into, bool& json)
{
    auto* set = secret.add_subcommand("set", "Set a secret; its value is read from standard input");
    auto* remove = secret.add_subcommand("remove", "Remove a secret");
    for (auto* each : {set, remove}) {
        each->add_option("name", into.name, "Variable in which programs find its placeholder")->required();
        each->add_option("--principal", into.principal,
                         "Whose sandboxes have it; '*': everybody's (callers without a name)");
        each->add_option("--sandbox", into.sandbox, "The sandbox that has it (all of the principal's)");
    }
    set->add_option("--hosts", into.hosts, "Its hosts: api.example.com,*.example.org,host:8443")->required();
    set->add_option("--header", into.header, "Send it in a header, such as 'Authorization: Bearer {}'");
    set->add_option("--query", into.query, "Send it in the query, such as 'key={}'");
    set->add_option("--basic", into.basic, "Send it as the password of this user in HTTP basic authentication");
    secret.add_subcommand("list", "Show the secrets, without their values")->add_flag("--json", json, "Print JSON");
    secret.require_subcommand(1);
}

void add_choice(CLI::App& to, audit_line& into)
{
    to.add_option("--since", into.since, "From this time on: 2026-11-24, 2026-11-24T10:30Z, or 12h (ago)");
    to.add_option("--until", into.until, "Before this time");
    to.add_option("--principal", into.principal, "Records of one principal");
    to.add_option("--kind", into.kind, "call, job, login, login_refused, egress, admin, start, stop, …");
}

void add_audit_commands(CLI::App& audit, audit_line& into, bool& json)
{
    auto* verify = audit.add_subcommand("verify", "Check that nobody changed the audit; exit code 1 if it was");
    verify->add_option("--key", into.key, "The key with which it must begin, printed by the first start");
    verify->add_option("--heads", into.heads, "File with published heads, such as a log (may be repeated)")
        ->allow_extra_args(false);
    auto* choose = audit.add_subcommand("export", "Print records, one a line");
    auto* tail = audit.add_subcommand("tail", "Show the latest records");
    tail->add_option("-n,--lines", into.lines, "Number of records (20)");
    tail->add_flag("-f,--follow", into.follow, "Go on with new records");
    for (auto* each : {choose, tail}) add_choice(*each, into);
    for (auto* each : {verify, choose, tail}) {
        each->add_option("--folder", into.folder, "Folder of the audit or a copy (AUDIT_FOLDER)");
        each->add_flag("--json", json, "Print JSON");
    }
    audit.require_subcommand(1);
}

void add_connect_command(CLI::App& connect, connect_words& into, bool& json)
{
    connect
        .add_option(
            "client", into.client,
            "claude-code, claude-desktop, cursor, vscode, gemini, codex, opencode, devin, windsurf, zed, antigravity, "
            "copilot, cline, cline-vscode, kiro, lm-studio, junie or goose")
        ->required();
    connect.add_option("--url", into.url, "Address of the server (from the settings)");
    connect.add_option("--scope", into.scope, "user, or project: the file in the working folder (user)");
    connect.add_option("--name", into.name, "Name of the entry (container-mcp)");
    connect.add_option("--profile", into.profile, "Profile of tools for the client (agent)");
    connect.add_option("--key", into.key, "Key or token that the client sends; - reads it from standard input");
    connect.add_option("--create-key", into.create_key, "Make a key for the principal of this name");
    connect.add_option("--file", into.file, "File to change (the client's usual one)");
    connect.add_flag("--stdio", into.stdio, "Let the client start container-mcp stdio");
    connect.add_flag("--remove", into.remove, "Remove the entry");
    connect.add_flag("--yes", into.yes, "Write without asking");
    connect.add_flag("--dry-run", into.dry_run, "Only show the change");
    connect.add_flag("--follow-link", into.follow_link, "Follow a link that leads out of its folder");
    connect.add_flag("--json", json, "Print JSON");
}

void add_backup_commands(CLI::App& app, backup_words& into, bool& json)
{
    auto* backup = app.add_subcommand("backup", "Save all state of a server in an archive, also while it runs");
    backup->add_option("file", into.file, "Archive (tar with Zstandard); - writes to a pipe")->required();
    backup->add_flag("--images", into.images, "Include the images of sandboxes");
    backup->add_option("--only", into.only, "Save only this principal (may be repeated)")->allow_extra_args(false);
    backup->add_option("--exclude-principal", into.without, "Leave this principal out (may be repeated)")
        ->allow_extra_args(false);
    backup->add_flag("--force", into.force, "Replace an archive of this name");
    auto* restore = app.add_subcommand("restore", "Restore a server's folder from an archive");
    restore->add_option("file", into.file, "Archive of `backup`; - reads from a pipe")->required();
    restore->add_option("--into", into.into, "Folder (SANDBOX_ROOT)");
    restore->add_flag("--force", into.force, "Move aside what is in the folder");
    for (auto* each : {backup, restore}) each->add_flag("--json", json, "Print JSON");
}

void add_ids(CLI::App& to, std::vector<std::string>& ids, const char* description)
{
    to.add_option("id", ids, description)->required();
}

void add_variables(server_choice& to, const environment& variables)
{
    const auto url = variables.find("CONTAINER_MCP_SERVER"), token = variables.find("CONTAINER_MCP_TOKEN");
    if (to.url.empty() && url != variables.end()) to.url = url->second;
    if (token != variables.end()) to.token = token->second;
}

void add_server_choice(CLI::App& to, server_choice& into)
{
    to.add_option("--server", into.url,
                  "Address of a server (CONTAINER_MCP_SERVER); left out: the one that runs for SANDBOX_ROOT");
    to.add_option("--token", into.token_by_option, "Token or key for --server (CONTAINER_MCP_TOKEN)");
    to.add_option("--principal", into.principal, "On whose behalf, at the own server; left out: the sandbox's owner");
}

// Behind a server's choice.
void add_people_commands(CLI::App& app, raw_options& into)
{
    const auto add = [&](const char* name, const char* description) {
        auto* command = app.add_subcommand(name, description);
        add_server_choice(*command, into.server);
        return command;
    };
    auto* exec = add("exec", "Run a command in a sandbox: exec [SANDBOX] -- COMMAND [ARGUMENT...]");
    exec->add_flag("-t,--tty", into.exec.terminal, "Give the command this terminal");
    auto* shell = add("shell", "Open a shell with a terminal in a sandbox");
    for (auto* each : {exec, shell})
        each->add_option("sandbox", into.exec.words, "Name or id of the sandbox; left out: the default one");
    auto* copy = add("cp", "Copy files and folders into a sandbox or out of it: cp FROM TO");
    copy->add_option("from", into.copy.from, "A path here, SANDBOX:PATH, or - for standard input")->required();
    copy->add_option("to", into.copy.to, "A path here, SANDBOX:PATH, or - for standard output")->required();
    auto* logs = add("logs", "Show the output of a background job, or what has run in a sandbox");
    logs->add_option("what", into.logs.what, "Id of a job, or name or id of a sandbox")->required();
    logs->add_flag("-f,--follow", into.logs.follow, "Go on with what comes");
    auto* call = add("call", "Call a tool and print its result as a model reads it: call TOOL [NAME=VALUE...]");
    call->add_option("tool", into.call.tool, "Name of the tool")->required();
    call->add_option("arguments", into.call.arguments, "NAME=TEXT, NAME:=JSON or NAME=@FILE");
    call->add_option("--json", into.call.json, "All arguments as an object of JSON; - reads it from standard input");
    call->add_option("-o,--output", into.call.output, "text, or json: the structured result")
        ->check(CLI::IsMember({"text", "json"}));
}

// What a shell has typed, whose own options count where a name is asked for.
command_line line_to_complete(const CLI::App& app, const std::vector<std::string>& words)
{
    command_line line;
    line.command = complete_role;
    line.sources.variables = current_environment();
    raw_options raw;
    for (std::size_t i = 0; i + 2 < words.size() && words[i] != "--"; ++i) {
        if (words[i] == "--sandbox-root") line.sources.command_line.push_back({"SANDBOX_ROOT", words[i + 1], words[i]});
        if (words[i] == "--server") raw.server.url = words[i + 1];
        if (words[i] == "--token") raw.server.token_by_option = words[i + 1];
        if (words[i] == "--principal") raw.server.principal = words[i + 1];
    }
    line.completing.server = raw.server;
    add_variables(line.completing.server, line.sources.variables);
    if (!words.empty()) line.completing.start = words.back();
    line.completing.possible = complete(app, words);
    return line;
}

// For a server that runs with the same SANDBOX_ROOT.
void add_admin_commands(CLI::App& app, raw_options& raw)
{
    auto& into = raw.admin;
    auto& json = raw.json;
    const auto add = [&](const char* name, const char* description) {
        auto* command = app.add_subcommand(name, description);
        command->add_flag("--json", json, "Print JSON");
        return command;
    };
    const auto add_list = [&](const char* name, const char* description) {
        auto* command = add(name, description);
        command->add_flag("--all", into.all, "For all servers of the cluster");
        command->add_option("-o,--output", raw.output, "wide: whole ids; json: as --json")
            ->check(CLI::IsMember({"wide", "json"}));
        command->add_option("--server", raw.server.url,
                            "Address of a server (CONTAINER_MCP_SERVER); left out: the one that runs for SANDBOX_ROOT");
        command->add_option("--token", raw.server.token_by_option, "Token or key for --server (CONTAINER_MCP_TOKEN)");
        return command;
    };
    add_list("ps", "Show what runs in the server: calls, jobs, tasks, kernels and shells");
    add_ids(*add_list("kill", "End what runs"), into.ids, "Ids as `ps` shows them");
    auto* sandboxes = add_list("sandboxes", "Show or delete sandboxes");
    sandboxes->add_option("--match", into.match, "Part of an id, name or principal");
    add_ids(*sandboxes->add_subcommand("rm", "Delete sandboxes"), into.ids, "Ids or names");
    add_ids(*add_list("sessions", "Show or end sessions")->add_subcommand("end", "End sessions"), into.ids, "Ids");
    add_ids(*add_list("jobs", "Show or cancel jobs and tasks")->add_subcommand("cancel", "Cancel jobs and tasks"),
            into.ids, "Ids");
    add_list("usage", "Show what each principal uses");
    add_list("ends",
             "Show the latest calls that failed: why, the exit code, and which setting would have allowed them");
    add("upstream", "Show other MCP servers whose tools code in sandboxes may call")
        ->add_subcommand("list", "Show them")
        ->add_flag("--json", json, "Print JSON");
    auto* cluster = add("cluster", "Show the servers of a cluster, or move sandboxes between them");
    cluster->add_option("--node", into.node, "Name of the server (this one)");
    cluster->add_subcommand("drain", "Accept nothing new, and move sandboxes away as they become idle")
        ->add_flag("--wait", into.wait, "Wait until none is left");
    cluster->add_subcommand("undrain", "Accept sandboxes again");
    cluster->add_subcommand("rebalance", "Move idle sandboxes away if this server has more than others");
    auto* pull = cluster->add_subcommand("pull", "Have all servers fetch an image that SANDBOX_IMAGE_PULL allows");
    pull->add_option("image", into.ids, "Name of the image")->required()->expected(1);
    pull->add_option("--labels", into.labels, "Only on servers with this label: gpu=a100 (may be repeated)")
        ->delimiter(',')
        ->allow_extra_args(false);
    cluster->add_subcommand("check", "Check etcd, servers, certificates, clocks and storage");
    cluster->add_subcommand("rebuild", "Restore the owners of sandboxes in etcd from the snapshot storage")
        ->add_flag("--dry-run", into.dry_run, "Only show them");
    cluster->add_subcommand("move", "Move a sandbox to a server, or to one with room")
        ->add_option("id", into.ids, "Id or name of the sandbox, and name of the server")
        ->required()
        ->expected(1, 2);
    add("reload", "Read settings, certificate and log file again");
}

void add_commands(CLI::App& app, raw_options& into)
{
    app.fallthrough();  // inherited by the commands: flags may stand before or after them
    app.add_subcommand("serve", "Serve over HTTP: /mcp, /sse and /healthz (the default)");
    app.add_subcommand("stdio", "Serve one client over standard input and output");
    add_backup_commands(app, into.backup, into.json);
    add_connect_command(*app.add_subcommand("connect", "Add the server to a client's settings"), into.connect,
                        into.json);
    auto* config = app.add_subcommand("config", "Show the settings in force and their origin");
    auto* doctor = app.add_subcommand("doctor", "Show the sandbox's layers, and what the machine lacks");
    auto* health = app.add_subcommand("health", "Check the server on MCP_HOST and MCP_PORT (for health checks)");
    auto* image = app.add_subcommand("image", "Add, list, remove and verify images for sandboxes");
    add_image_commands(*image, into.image, into.json);
    add_key_commands(*app.add_subcommand("key", "Create, list, revoke and rotate API keys"), into.identity, into.json);
    add_principal_commands(*app.add_subcommand("principal", "Link people of authorization servers to principals"),
                           into.identity, into.json);
    add_quota_commands(*app.add_subcommand("quota", "Set, clear and list limits of principals"), into.identity,
                       into.json);
    add_secret_commands(
        *app.add_subcommand("secret", "Set, list and remove secrets that sandboxes use without seeing them"),
        into.secret.wanted, into.json);
    add_audit_commands(*app.add_subcommand("audit", "Verify, export and follow the audit"), into.audit, into.json);
    add_local_run(app);
    add_people_commands(app, into);
    add_admin_commands(app, into);
    app.add_subcommand("completion", "Print the script by which bash, zsh or fish completes commands")
        ->add_option("shell", into.shell, "bash, zsh or fish")
        ->required();
    app.add_subcommand("version", "Show the version");
    config->add_flag("--json", into.json, "Print JSON");
    doctor->add_flag("--json", into.json, "Print JSON");
    health->add_flag("--live", into.live, "Only whether it answers: /livez instead of /healthz");
    app.require_subcommand(0, 1);
}

std::vector<const CLI::App*> subcommands(const CLI::App& app)
{
    return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> flags_of(const CLI::App& app)
{
    auto parts = subcommands(app);
    for (const CLI::App* command : subcommands(app))
        for (const CLI::App* part : subcommands(*command)) parts.push_back(part);
    parts.push_back(&app);
    std::vector<std::string> flags;
    for (const CLI::App* part : parts)
        for (const CLI::Option* option : part->get_options())
            for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
    return flags;
}

std::vector<std::string> commands_of(const CLI::App& app)
{
    std::vector<std::string> commands;
    for (const CLI::App* command : subcommands(app)) commands.push_back(command->get_name());
    return commands;
}

// As typed, because the parser keeps unknown words in an order of its own.
std::vector<std::string> unknown_in_order(const CLI::App& app, int argc, char** argv)
{
    std::vector<std::string> left = app.remaining(true), ordered;
    for (int i = 1; i < argc; ++i) {
        const auto at = std::find(left.begin(), left.end(), argv[i]);
        if (at == left.end()) continue;
        ordered.push_back(*at);
        left.erase(at);
    }
    return ordered;
}

assignment parse_set(const std::string& pair)
{
    const auto equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) throw config_error("--set " + pair + " is not KEY=VALUE");
    return {pair.substr(0, equals), pair.substr(equals + 1), "--set"};
}

settings_sources sources_of(const CLI::App& app, const raw_options& raw)
{
    settings_sources from;
    from.variables = current_environment();
    for (std::size_t i = 0; i < short_options.size(); ++i) {
        if (app.count(short_options[i].flag) == 0) continue;
        from.command_line.push_back({short_options[i].key, raw.shorts[i], short_options[i].flag});
    }
    if (raw.debug) from.command_line.push_back({"DEBUG", "true", "--debug"});
    for (const auto& pair : raw.set) from.command_line.push_back(parse_set(pair));
    if (!raw.env_file.empty()) from.env_file = raw.env_file;
    if (!raw.toml_file.empty()) from.toml_file = raw.toml_file;
    return from;
}

// Behind -- is the command line of a program that runs in a sandbox.
int words_before_program(int argc, char** argv)
{
    const auto is = [](const char* wanted) {
        return [wanted](const char* word) { return std::string_view(word) == wanted; };
    };
    const auto dashes = std::find_if(argv, argv + argc, is("--"));
    const bool runs = std::any_of(argv, dashes, is("exec"));
    return runs ? static_cast<int>(dashes - argv) : argc;
}

void choose_server(raw_options& raw, const environment& variables)
{
    add_variables(raw.server, variables);
    for (auto* each : {&raw.exec.server, &raw.copy.server, &raw.logs.server, &raw.call.server, &raw.admin.server})
        *each = raw.server;
}

// Beside --help and --json.
bool has_own_flags(const CLI::App& command) { return command.get_options().size() > 2; }

// Behind a command all flags are shown, because all of them may stand there; a command that has commands or flags shows
// its own.
void print_help(const CLI::App& app)
{
    const CLI::App* about = &app;
    std::string words = "container-mcp";
    for (const auto* command : app.get_subcommands()) {
        if (subcommands(*command).empty() && !has_own_flags(*command)) continue;
        about = command;
        words += " " + command->get_name();
        for (const auto* part : command->get_subcommands()) {
            about = part;
            words += " " + part->get_name();
        }
    }
    std::cout << app.get_formatter()->make_help(about, words, CLI::AppFormatMode::Normal);
}

}  // namespace

command_line parse_command_line(int argc, char** argv)
{
    CLI::App app("An MCP server that runs bash and Python in a sandbox and offers file tools.", "container-mcp");
    raw_options raw;
    add_options(app, raw);
    add_commands(app, raw);
    if (argc > 2 && argv[1] == complete_role) return line_to_complete(app, {argv + 3, argv + argc});
    const int own = words_before_program(argc, argv);
    try {
        app.parse(own, argv);
    } catch (const CLI::CallForHelp&) {
        print_help(app);
        throw early_exit{0};
    } catch (const CLI::ExtrasError&) {
        std::cerr << tell_unknown_words("container-mcp", unknown_in_order(app, own, argv), flags_of(app),
                                        commands_of(app));
        throw early_exit{2};
    } catch (const CLI::ParseError& e) {
        throw early_exit{app.exit(e) == 0 ? 0 : 2};
    }
    command_line line;
    for (const auto* command : app.get_subcommands()) {
        line.command = command->get_name();
        for (const auto* action : command->get_subcommands())
            raw.image.action = raw.identity.action = raw.secret.action = raw.admin.action = raw.audit.action =
                action->get_name();
    }
    if (raw.version) line.command = "version";
    line.json = raw.json || raw.output == "json";
    raw.admin.wide = raw.output == "wide";
    line.live = raw.live;
    line.image = raw.image;
    line.identity = raw.identity;
    line.secret = raw.secret;
    line.audit = raw.audit;
    line.connect = raw.connect;
    line.backup = raw.backup;
    line.sources = sources_of(app, raw);
    line.sources.trust_working_folder = line.command != "stdio";
    raw.exec.argv.assign(argv + std::min(own + 1, argc), argv + argc);
    choose_server(raw, line.sources.variables);
    line.admin = raw.admin;
    line.exec = raw.exec;
    line.copy = raw.copy;
    line.logs = raw.logs;
    line.call = raw.call;
    line.shell = raw.shell;
    return line;
}

}  // namespace cmcp::command
