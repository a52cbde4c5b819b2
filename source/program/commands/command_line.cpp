#include "commands/commands.hpp"

#include "config/config_error.hpp"
#include "text/words.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <iostream>

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
    std::string env_file, toml_file;
    bool debug = false, json = false, live = false, version = false;
    image_line image;
    identity_line identity;
    secret_line secret;
    admin_line admin;
    audit_line audit;
    connect_words connect;
    backup_words backup;
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

void add_image_commands(CLI::App& image, image_line& into, bool& json)
{
    auto* add = image.add_subcommand("add", "Fetch and unpack an image by skopeo and umoci, or copy a folder");
    add->add_option("source", into.what,
                    "docker://NAME, oci:PATH[:TAG], oci-archive:PATH, docker-archive:PATH, dir:PATH")
        ->required();
    add->add_option("--name", into.name, "Name by which sandboxes ask for it (that behind docker://)");
    add->add_flag("--insecure", into.insecure, "Without TLS, for a registry of this machine alone");
    image.add_subcommand("list", "Show names, digests and sizes")->add_flag("--json", json, "Print JSON");
    image.add_subcommand("remove", "Remove a name, and the image with its last name or by its digest")
        ->add_option("image", into.what, "Name or sha256:DIGEST")
        ->required();
    image.add_subcommand("verify", "Say which files are not as they were added")
        ->add_option("image", into.what, "Name or sha256:DIGEST (all images)");
    image.require_subcommand(1);
}

void add_key_commands(CLI::App& key, identity_line& into, bool& json)
{
    auto* create = key.add_subcommand("create", "Make a key and show it, this once");
    create->add_option("principal", into.what, "To whom belongs what is made with the key")->required();
    create->add_option("--scopes", into.scopes, "Between blanks; all but mcp:admin when left out");
    create->add_option("--profile", into.profile, "Profile of tools that its clients are shown");
    create->add_option("--networks", into.networks, "Addresses and blocks from which it may be used (any)");
    create->add_option("--lasts", into.lasts, "Time until it expires: 12h, 90d, 1y (without end)");
    create->add_option("--limit", into.limits, "Quota of the principal, as runs=2 (may be repeated)")
        ->type_name("NAME=NUMBER")
        ->allow_extra_args(false);
    create->add_option("--note", into.note, "For people");
    create->add_flag("--json", json, "Print JSON");
    key.add_subcommand("list", "Show the keys, without their secrets")->add_flag("--json", json, "Print JSON");
    key.add_subcommand("revoke", "End a key at once")->add_option("key", into.what, "Its id")->required();
    auto* rotate = key.add_subcommand("rotate", "Make a key with the same rights, and revoke the old one");
    rotate->add_option("key", into.what, "The old one's id")->required();
    rotate->add_flag("--json", json, "Print JSON");
    key.require_subcommand(1);
}

void add_principal_commands(CLI::App& principal, identity_line& into, bool& json)
{
    auto* link = principal.add_subcommand("link", "Give a person of an authorization server a principal's name");
    link->add_option("principal", into.what, "The name, as that of a key or of MCP_AUTH_TOKENS")->required();
    auto* unlink = principal.add_subcommand("unlink", "Take it back");
    for (auto* each : {link, unlink}) {
        each->add_option("--issuer", into.issuer, "As in AUTH_ISSUERS")->required();
        each->add_option("--subject", into.subject, "As its tokens name the person (sub)")->required();
    }
    principal.add_subcommand("list", "Show the links")->add_flag("--json", json, "Print JSON");
    principal.require_subcommand(1);
}

void add_quota_commands(CLI::App& quota, identity_line& into, bool& json)
{
    auto* set = quota.add_subcommand("set", "Give a principal limits of its own");
    auto* clear = quota.add_subcommand("clear", "Take them back: those of everybody count again");
    for (auto* each : {set, clear})
        each->add_option("principal", into.what, "The name of a key, a token or a link")->required();
    set->add_option("limits", into.limits, "As runs=2 calls=60; `quota names` shows the names")->required();
    clear->add_option("limits", into.limits, "Names of limits (all of the principal)");
    for (auto* each : {quota.add_subcommand("list", "Show the limits that principals have of their own"),
                       quota.add_subcommand("names", "Show the names of limits, and everybody's numbers")})
        each->add_flag("--json", json, "Print JSON");
    quota.require_subcommand(1);
}

void add_secret_commands(CLI::App& secret, secret_order& into, bool& json)
{
    auto* set = secret.add_subcommand("set", "Keep a secret, whose value standard input brings");
    auto* remove = secret.add_subcommand("remove", "Remove a secret");
    for (auto* each : {set, remove}) {
        each->add_option("name", into.name, "Of the variable in which programs find its placeholder")->required();
        each->add_option("--principal", into.principal, "Whose sandboxes have it; '*': everybody's (without a name)");
        each->add_option("--sandbox", into.sandbox, "The sandbox that has it (all of the principal's)");
    }
    set->add_option("--hosts", into.hosts, "Hosts it is for: api.example.com,*.example.org,host:8443")->required();
    set->add_option("--header", into.header, "Its place is a header, as 'Authorization: Bearer {}'");
    set->add_option("--query", into.query, "Its place is a part of the query, as 'key={}'");
    set->add_option("--basic", into.basic, "Its place is the password of HTTP's basic login of this user");
    secret.add_subcommand("list", "Show the secrets, without their values")->add_flag("--json", json, "Print JSON");
    secret.require_subcommand(1);
}

void add_choice(CLI::App& to, audit_line& into)
{
    to.add_option("--since", into.since, "From this time on: 2026-11-24, 2026-11-24T10:30Z, or 12h (so long ago)");
    to.add_option("--until", into.until, "Before this time");
    to.add_option("--principal", into.principal, "Of one principal");
    to.add_option("--kind", into.kind, "call, job, login, login_refused, egress, admin, start, stop, …");
}

void add_audit_commands(CLI::App& audit, audit_line& into, bool& json)
{
    auto* verify = audit.add_subcommand("verify", "Say whether the audit is as the server wrote it; 1 where it is not");
    verify->add_option("--key", into.key, "The key by which it must begin, as the first start told it");
    verify->add_option("--heads", into.heads, "File with published heads, such as a log (may be repeated)")
        ->allow_extra_args(false);
    auto* choose = audit.add_subcommand("export", "Print records as they are, a line each");
    auto* tail = audit.add_subcommand("tail", "Show the latest records");
    tail->add_option("-n,--lines", into.lines, "So many (20)");
    tail->add_flag("-f,--follow", into.follow, "And those that follow");
    for (auto* each : {choose, tail}) add_choice(*each, into);
    for (auto* each : {verify, choose, tail}) {
        each->add_option("--folder", into.folder, "Folder of a copy (AUDIT_FOLDER)");
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
    connect.add_option("--url", into.url, "Address of the server (as the settings say)");
    connect.add_option("--scope", into.scope, "user, or project: the file in the working folder (user)");
    connect.add_option("--name", into.name, "Name of the entry (container-mcp)");
    connect.add_option("--profile", into.profile, "Profile of tools that the client is shown (agent)");
    connect.add_option("--key", into.key, "Key or token that the client sends; - reads it from standard input");
    connect.add_option("--create-key", into.create_key, "Make a key for the principal of this name");
    connect.add_option("--file", into.file, "Another file of the client than the usual one");
    connect.add_flag("--stdio", into.stdio, "Let the client start a server of its own");
    connect.add_flag("--remove", into.remove, "Take the entry out");
    connect.add_flag("--yes", into.yes, "Write without asking");
    connect.add_flag("--dry-run", into.dry_run, "Only show the change");
    connect.add_flag("--follow-link", into.follow_link, "Write behind a link that leads out of its folder");
    connect.add_flag("--json", json, "Print JSON");
}

void add_backup_commands(CLI::App& app, backup_words& into, bool& json)
{
    auto* backup = app.add_subcommand("backup", "Write all state of the server into an archive, while it runs");
    backup->add_option("file", into.file, "Archive (tar with Zstandard); - writes to a pipe")->required();
    backup->add_flag("--images", into.images, "With the images of sandboxes");
    backup->add_option("--only", into.only, "Principal whose state is wanted (may be repeated)")
        ->allow_extra_args(false);
    backup->add_option("--exclude-principal", into.without, "Principal whose state is left out (may be repeated)")
        ->allow_extra_args(false);
    backup->add_flag("--force", into.force, "Replace an archive of this name");
    auto* restore = app.add_subcommand("restore", "Make the folder of a server of an archive");
    restore->add_option("file", into.file, "Archive of `backup`; - reads from a pipe")->required();
    restore->add_option("--into", into.into, "Folder (SANDBOX_ROOT)");
    restore->add_flag("--force", into.force, "Move aside what is in the folder");
    for (auto* each : {backup, restore}) each->add_flag("--json", json, "Print JSON");
}

void add_ids(CLI::App& to, std::vector<std::string>& ids, const char* description)
{
    to.add_option("id", ids, description)->required();
}

// For a server that runs with the same SANDBOX_ROOT.
void add_admin_commands(CLI::App& app, admin_line& into, bool& json)
{
    const auto add = [&](const char* name, const char* description) {
        auto* command = app.add_subcommand(name, description);
        command->add_flag("--json", json, "Print JSON");
        return command;
    };
    const auto add_list = [&](const char* name, const char* description) {
        auto* command = add(name, description);
        command->add_flag("--all", into.all, "Of all servers of the cluster");
        return command;
    };
    add_list("ps", "Show what runs in the server: calls, jobs, tasks, kernels and shells");
    add_ids(*add_list("kill", "End what runs"), into.ids, "Ids as `ps` shows them");
    auto* sandboxes = add_list("sandboxes", "Show or delete sandboxes");
    sandboxes->add_option("--match", into.match, "A part of id, name or principal");
    add_ids(*sandboxes->add_subcommand("rm", "Delete sandboxes"), into.ids, "Ids or names");
    add_ids(*add_list("sessions", "Show or end sessions")->add_subcommand("end", "End sessions"), into.ids, "Ids");
    add_ids(*add_list("jobs", "Show or cancel jobs and tasks")->add_subcommand("cancel", "Cancel jobs and tasks"),
            into.ids, "Ids");
    add_list("usage", "Show what each principal uses");
    add_list("ends",
             "Show the latest calls that failed: why, the exit code, and which setting would have let them go on");
    add("upstream", "Show the other MCP servers whose tools code in sandboxes may call")
        ->add_subcommand("list", "Show them")
        ->add_flag("--json", json, "Print JSON");
    auto* cluster = add("cluster", "Show the servers that work as one, or give sandboxes of one to others");
    cluster->add_option("--node", into.node, "The server; without, this one");
    cluster->add_subcommand("drain", "Take nothing new and give sandboxes away as they become idle")
        ->add_flag("--wait", into.wait, "Until none is left");
    cluster->add_subcommand("undrain", "Take sandboxes again");
    cluster->add_subcommand("rebalance", "Give idle sandboxes away that this server has more than others");
    auto* pull = cluster->add_subcommand("pull", "Have all servers fetch an image that SANDBOX_IMAGE_PULL allows");
    pull->add_option("image", into.ids, "Its name, as sandboxes ask for it")->required()->expected(1);
    pull->add_option("--labels", into.labels, "Those servers alone that have these: gpu=a100 (may be repeated)")
        ->delimiter(',')
        ->allow_extra_args(false);
    cluster->add_subcommand("check",
                            "Say whether etcd, servers, certificates, clocks and storage are as they should be");
    cluster->add_subcommand("rebuild", "Write the owners of sandboxes into etcd anew, by the storage of snapshots")
        ->add_flag("--dry-run", into.dry_run, "Only show them");
    cluster->add_subcommand("move", "Move a sandbox to the server of a name, or to one with room")
        ->add_option("id", into.ids, "Its id or name, and the server's name")
        ->required()
        ->expected(1, 2);
    add("reload", "Let the server read its settings, certificate and log file again");
}

void add_commands(CLI::App& app, raw_options& into)
{
    app.fallthrough();  // inherited by the commands: flags may stand before or after them
    app.add_subcommand("serve", "Serve over HTTP: /mcp, /sse and /healthz (the default)");
    app.add_subcommand("stdio", "Serve one client over standard input and output");
    add_backup_commands(app, into.backup, into.json);
    add_connect_command(*app.add_subcommand("connect", "Write the server into the settings of a client"), into.connect,
                        into.json);
    auto* config = app.add_subcommand("config", "Show the settings in force and where each comes from");
    auto* doctor = app.add_subcommand("doctor", "Show which layers the sandbox has on this machine");
    auto* health =
        app.add_subcommand("health", "Ask the server on MCP_HOST and MCP_PORT whether it works (for health checks)");
    auto* image = app.add_subcommand("image", "Add, list, remove and verify the images that sandboxes may have");
    add_image_commands(*image, into.image, into.json);
    add_key_commands(*app.add_subcommand("key", "Create, list, revoke and rotate API keys"), into.identity, into.json);
    add_principal_commands(*app.add_subcommand("principal", "Link people of authorization servers to names"),
                           into.identity, into.json);
    add_quota_commands(*app.add_subcommand("quota", "Set, clear and list the limits of single principals"),
                       into.identity, into.json);
    add_secret_commands(
        *app.add_subcommand("secret", "Set, list and remove secrets that sandboxes use without seeing them"),
        into.secret.wanted, into.json);
    add_audit_commands(*app.add_subcommand("audit", "Verify, export and follow the audit"), into.audit, into.json);
    add_admin_commands(app, into.admin, into.json);
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
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        print_help(app);
        throw early_exit{0};
    } catch (const CLI::ExtrasError&) {
        std::cerr << tell_unknown_words("container-mcp", unknown_in_order(app, argc, argv), flags_of(app),
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
    line.json = raw.json;
    line.live = raw.live;
    line.image = raw.image;
    line.identity = raw.identity;
    line.secret = raw.secret;
    line.admin = raw.admin;
    line.audit = raw.audit;
    line.connect = raw.connect;
    line.backup = raw.backup;
    line.sources = sources_of(app, raw);
    line.sources.trust_working_folder = line.command != "stdio";
    return line;
}

}  // namespace cmcp::command
