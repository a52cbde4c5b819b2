#include "packages/package_commands.hpp"

#include "runs/sandbox_error.hpp"
#include "text/encodings.hpp"
#include "text/words.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>

#include <regex>
#include <string_view>

namespace cmcp {

namespace {

constexpr std::size_t most_names = 100;
constexpr std::string_view quiet_pip = "--no-input --disable-pip-version-check --no-cache-dir --progress-bar off";
// npm takes tarballs from the registry itself, wherever it names them, and writes their own addresses into lock files.
constexpr std::string_view quiet_npm =
    "install --no-audit --no-fund --no-update-notifier --replace-registry-host always --fetch-retries 1 "
    "--fetch-retry-mintimeout 500";

// Options, files and addresses are refused, because they would bring in code from elsewhere.
bool fits(package_kind kind, const std::string& name)
{
    static const std::regex pip(
        "[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\\[[A-Za-z0-9,._ -]+\\])?"
        "( *(===|==|>=|<=|~=|!=|<|>) *[A-Za-z0-9.*+!_-]+( *, *(===|==|>=|<=|~=|!=|<|>) *[A-Za-z0-9.*+!_-]+)*)?");
    static const std::regex npm("(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*(@[A-Za-z0-9.^~*+<>=_-]+)?");
    return name.size() <= 200 && std::regex_match(name, kind == package_kind::pip ? pip : npm);
}

void add_words(std::vector<std::string>& command, std::string_view words)
{
    for (const auto word : split(words, ' ')) command.emplace_back(word);
}

void add_names(std::vector<std::string>& command, const package_order& order)
{
    command.emplace_back("--");
    command.insert(command.end(), order.names.begin(), order.names.end());
}

// Wheels are only downloaded. Other packages are built here, where there is nothing of the caller.
void add_pip_fetch(std::vector<std::string>& command, const package_order& order, const package_index& index)
{
    command.insert(command.end(), {"pip", order.source ? "wheel" : "download"});
    add_words(command, order.source ? "--wheel-dir packages" : "--dest packages --only-binary :all:");
    add_words(command, quiet_pip);
    add_words(command, "--retries 1 --timeout 20");
    const std::string host = index.root().who.text();
    command.insert(command.end(), {"--trusted-host", host, "--index-url", index.plain_root()});
}

void add_npm(std::vector<std::string>& command, const package_order& order, const package_index& index, bool scripts)
{
    command.push_back(order.program);
    add_words(command, quiet_npm);
    if (!scripts) command.emplace_back("--ignore-scripts");
    command.insert(command.end(), {"--registry", index.plain_root()});
}

}  // namespace

void check_package_names(package_kind kind, const std::vector<std::string>& names)
{
    if (names.empty() || names.size() > most_names)
        throw sandbox_error("InvalidArgument", "package_names must have 1 to 100 names.");
    for (const auto& name : names)
        if (!fits(kind, name))
            throw sandbox_error(
                "InvalidArgument",
                "package_names: \"" + name.substr(0, 100) + "\" is not a package with an optional version, such as " +
                    (kind == package_kind::pip ? "numpy or numpy==1.26.4." : "left-pad or left-pad@1.3.0."));
}

index_address read_index_address(package_kind kind, const std::string& text)
{
    const auto parsed = boost::urls::parse_uri(text);
    index_address address;
    try {
        if (!parsed) throw bad_url("it is no URL");
        boost::urls::url clean(*parsed);
        if (clean.has_userinfo())
            address.authorization = "Basic " + base64_encode(clean.user() + ":" + clean.password());
        clean.remove_userinfo();
        address.url = web_url::parse(std::string_view(clean.buffer().data(), clean.buffer().size()));
    } catch (const bad_url&) {
        throw sandbox_error("NotAvailable",
                            std::string(kind == package_kind::pip ? "PYPI_INDEX_URL" : "NPM_REGISTRY_URL") +
                                " of this server is no http:// or https:// address; its operator can set another.");
    }
    return address;
}

std::vector<std::string> fetching_command(const package_order& order, const package_index& index)
{
    std::vector<std::string> command;
    if (order.kind == package_kind::pip) {
        add_pip_fetch(command, order, index);
    } else {
        add_npm(command, order, index, false);
        add_words(command, "--cache packages");
    }
    add_names(command, order);
    return command;
}

std::vector<std::string> installing_words(const package_order& order, const package_index& index)
{
    std::vector<std::string> words;
    if (order.kind == package_kind::pip) {
        // Whether packages that are there already fit each other is no news of this installation, and takes long to
        // find out.
        add_words(words,
                  "pip install --user --no-warn-script-location --no-warn-conflicts --no-index --only-binary :all:");
        add_words(words, quiet_pip);
    } else {
        add_npm(words, order, index, order.source);
        words.emplace_back("--offline");
    }
    add_names(words, order);
    return words;
}

}  // namespace cmcp
