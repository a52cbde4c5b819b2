#include "local/local_policy.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>
#include <span>

namespace cmcp::sandbox {
namespace {

namespace json = boost::json;

using texts = std::vector<std::string>;

struct list_of_texts {
    const char* group;
    const char* name;
    texts local_policy::*list;
};

constexpr list_of_texts lists[] = {
    {"network", "allowedDomains", &local_policy::allowed_hosts},
    {"network", "deniedDomains", &local_policy::denied_hosts},
    {"filesystem", "denyRead", &local_policy::deny_read},
    {"filesystem", "allowRead", &local_policy::allow_read},
    {"filesystem", "allowWrite", &local_policy::allow_write},
    {"filesystem", "denyWrite", &local_policy::deny_write},
};

// What else sandbox-runtime reads. Where one asks for less isolation, there is nothing here that it could mean: each of
// `refused` would widen what a program reaches.
constexpr std::string_view ignored[] = {"ignoreViolations", "ripgrep", "mandatoryDenySearchDepth", "allowPty"};
constexpr std::string_view ignored_of_network[] = {"allowLocalBinding", "httpProxyPort", "socksProxyPort"};
constexpr std::string_view refused[] = {"allowAllUnixSockets", "allowUnixSockets", "enableWeakerNestedSandbox"};

[[noreturn]] void refuse(const std::string& file, const std::string& what)
{
    throw bad_policy(file + ": " + what + ".");
}

texts texts_of(const json::value& value, const std::string& file, const std::string& name)
{
    texts all;
    const auto* entries = value.if_array();
    if (entries == nullptr) refuse(file, name + " is not a list");
    for (const json::value& each : *entries) {
        if (!each.is_string() || each.get_string().empty()) refuse(file, name + " has an entry that is not a text");
        if (each.get_string().find('\0') != json::string::npos) refuse(file, name + " has an entry with a zero byte");
        all.emplace_back(each.get_string());
    }
    return all;
}

bool is_set(const json::value& value)
{
    if (const auto* flag = value.if_bool()) return *flag;
    if (const auto* entries = value.if_array()) return !entries->empty();
    return !value.is_null();
}

bool has(std::span<const std::string_view> names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

void read_entry(local_policy& policy, const std::string& file, const std::string& group, std::string_view name,
                const json::value& value)
{
    const std::string full = group.empty() ? std::string(name) : group + "." + std::string(name);
    for (const auto& each : lists)
        if (each.group == group && each.name == name) {
            policy.*each.list = texts_of(value, file, full);
            return;
        }
    if (group == "filesystem" && name == "allowGitConfig") {
        policy.git_settings = is_set(value);
        return;
    }
    if (has(refused, name)) {
        if (is_set(value)) refuse(file, full + " is not supported, because it would weaken the sandbox; remove it");
        return;
    }
    if (!has(ignored, name) && !(group == "network" && has(ignored_of_network, name)))
        refuse(file, "unknown setting " + full);
}

void check_path(const std::string& path, const std::string& file)
{
    if (path.find_first_of("*?[]") != std::string::npos)
        refuse(file, "\"" + path + "\" has a wildcard; name the files or their folder");
}

constexpr std::string_view secrets_of_home[] = {".ssh",
                                                ".gnupg",
                                                ".aws",
                                                ".azure",
                                                ".kube",
                                                ".docker/config.json",
                                                ".netrc",
                                                ".git-credentials",
                                                ".npmrc",
                                                ".yarnrc.yml",
                                                ".pypirc",
                                                ".pgpass",
                                                ".my.cnf",
                                                ".vault-token",
                                                ".password-store",
                                                ".cargo/credentials",
                                                ".cargo/credentials.toml",
                                                ".terraform.d/credentials.tfrc.json",
                                                ".config/gcloud",
                                                ".config/gh",
                                                ".config/git/credentials",
                                                ".config/containers/auth.json",
                                                ".config/container-mcp",
                                                ".config/google-chrome",
                                                ".config/chromium",
                                                ".mozilla",
                                                ".thunderbird",
                                                ".local/share/keyrings",
                                                ".bash_history",
                                                ".zsh_history",
                                                ".python_history",
                                                ".node_repl_history",
                                                ".psql_history",
                                                ".claude/.credentials.json",
                                                ".codex/auth.json",
                                                ".gemini/oauth_creds.json"};

constexpr std::string_view secrets_of_machine[] = {
    "/etc/shadow",    "/etc/shadow-",     "/etc/gshadow", "/etc/gshadow-",      "/etc/sudoers",
    "/etc/sudoers.d", "/etc/ssl/private", "/etc/ssh",     "/etc/container-mcp", "/var/lib/container-mcp"};

bool lies_below(std::string_view path, std::string_view folder)
{
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

// The folder with a program's libraries beside its bin, unless that is the home folder or one of everything.
void add_tools(texts& to, const std::string& home, const std::string& entry)
{
    if (!lies_below(entry, home)) return;
    const std::filesystem::path folder = std::filesystem::path(entry).lexically_normal();
    const std::string above = folder.parent_path().string();
    if (above == home + "/.local") {
        for (const char* part : {"/bin", "/lib", "/share/uv", "/share/pipx"}) to.push_back(above + part);
    } else if (folder.filename() == "bin" && lies_below(above, home)) {
        to.push_back(above);
    } else {
        to.push_back(folder.string());
    }
}

}  // namespace

local_policy read_policy(std::string_view text, const std::string& name)
{
    json::error_code error;
    const json::value all = json::parse({text.data(), text.size()}, error);
    if (error) refuse(name, "not valid JSON (" + error.message() + ")");
    if (!all.is_object()) refuse(name, "not a JSON object");
    local_policy policy;
    for (const auto& [group, value] : all.get_object()) {
        if (group != "network" && group != "filesystem") {
            read_entry(policy, name, {}, std::string_view(group.data(), group.size()), value);
            continue;
        }
        if (!value.is_object()) refuse(name, std::string(group) + " is not an object");
        for (const auto& [key, inner] : value.get_object())
            read_entry(policy, name, std::string(group), std::string_view(key.data(), key.size()), inner);
    }
    for (const auto* list : {&policy.deny_read, &policy.allow_read, &policy.allow_write, &policy.deny_write})
        for (const std::string& path : *list) check_path(path, name);
    return policy;
}

std::string write_policy(const local_policy& policy)
{
    std::string out = "{";
    for (const char* group : {"network", "filesystem"}) {
        out += std::string(out == "{" ? "" : ",") + "\n  \"" + group + "\": {";
        const char* between = "";
        for (const auto& each : lists) {
            if (std::string_view(each.group) != group) continue;
            json::array entries;
            for (const auto& entry : policy.*each.list) entries.emplace_back(entry);
            out += std::string(between) + "\n    \"" + each.name + "\": " + json::serialize(entries);
            between = ",";
        }
        if (policy.git_settings && std::string_view(group) == "filesystem") out += ",\n    \"allowGitConfig\": true";
        out += "\n  }";
    }
    return out + "\n}\n";
}

local_policy usual_policy(const std::string& home, std::string_view path)
{
    local_policy policy;
    policy.allow_write = {"."};
    policy.deny_read = {"/home", "/root"};
    if (home.empty() || home == "/") return policy;
    policy.deny_read.push_back("~");
    for (std::size_t at = 0; at <= path.size();) {
        const auto end = std::min(path.find(':', at), path.size());
        add_tools(policy.allow_read, home, std::string(path.substr(at, end - at)));
        at = end + 1;
    }
    for (const char* runtime : {"/.nvm/versions", "/.rustup", "/.pyenv", "/.rbenv", "/.asdf", "/.local/share/mise"})
        policy.allow_read.push_back(home + runtime);
    return policy;
}

texts secret_paths()
{
    texts all;
    for (const auto each : secrets_of_home) all.push_back("~/" + std::string(each));
    for (const auto each : secrets_of_machine) all.emplace_back(each);
    return all;
}

texts obeyed_names(bool git_settings)
{
    texts all{".gitconfig",   ".gitmodules",      ".bashrc",        ".bash_profile", ".bash_login",
              ".bash_logout", ".zshrc",           ".zprofile",      ".zshenv",       ".zlogin",
              ".profile",     ".ripgreprc",       ".mcp.json",      ".envrc",        ".vscode",
              ".idea",        ".claude/commands", ".claude/agents", ".claude/hooks", ".claude/settings.json",
              ".git/hooks"};
    if (!git_settings) all.emplace_back(".git/config");
    return all;
}

}  // namespace cmcp::sandbox
