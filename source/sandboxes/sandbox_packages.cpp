#include "sandboxes/sandbox_packages.hpp"

#include "async/uncancelled.hpp"
#include "jsonrpc/read_object.hpp"
#include "runs/python_run.hpp"
#include "sandboxes/package_driver.hpp"
#include "sandboxes/package_problem.hpp"
#include "text/words.hpp"
#include "web/channel_relay.hpp"

#include <boost/url/parse.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <regex>
#include <system_error>

namespace cmcp {

namespace {

constexpr std::size_t most_names = 100;
constexpr auto time_of_question = std::chrono::seconds(20);
constexpr const char* npm_program = "/usr/bin/npm";

// Names, extras and versions alone: no options, files or addresses, which would bring in code from elsewhere.
bool fits(package_kind kind, const std::string& name)
{
    static const std::regex pip(
        "[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\\[[A-Za-z0-9,._ -]+\\])?"
        "( *(===|==|>=|<=|~=|!=|<|>) *[A-Za-z0-9.*+!_-]+( *, *(===|==|>=|<=|~=|!=|<|>) *[A-Za-z0-9.*+!_-]+)*)?");
    static const std::regex npm("(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*(@[A-Za-z0-9.^~*+<>=_-]+)?");
    return name.size() <= 200 && std::regex_match(name, kind == package_kind::pip ? pip : npm);
}

void check(package_kind kind, const std::vector<std::string>& names)
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

struct place_of_index {
    std::string host;
    std::string entry;  // host:port
    bool encrypted = false;
};

place_of_index place_of(const std::string& url)
{
    place_of_index made;
    const auto parsed = boost::urls::parse_uri(url);
    if (!parsed) return made;
    made.encrypted = parsed->scheme() == "https";
    made.host = std::string(parsed->encoded_host());
    const std::string port(parsed->port());
    made.entry = made.host + ":" + (!port.empty() ? port : made.encrypted ? "443" : "80");
    return made;
}

std::string fetching(const std::vector<std::string>& names, const std::string& host)
{
    return "Fetching and installing from " + host + ": " + joined(names, ", ");
}

std::map<std::string, std::string> versions(const json::object& from, std::string_view name)
{
    std::map<std::string, std::string> found;
    const auto* all = from.if_contains(name);
    if (all == nullptr || !all->is_object()) return found;
    for (const auto& each : all->get_object())
        if (each.value().is_string()) found.emplace(each.key(), std::string(each.value().get_string()));
    return found;
}

/// Marks an installation as under way; what ends without having told its packages is looked after.
class marked_install {
public:
    marked_install(sandbox_manager& sandboxes, std::string id)
        : sandboxes_(sandboxes), id_(std::move(id)), mark_(sandboxes.places().mark_install(id_))
    {
    }
    marked_install(const marked_install&) = delete;
    marked_install& operator=(const marked_install&) = delete;
    ~marked_install()
    {
        sandboxes_.places().unmark_install(id_, mark_);
        if (!told_) sandboxes_.look_for_packages_soon(id_);
    }
    void told() { told_ = true; }

private:
    sandbox_manager& sandboxes_;
    std::string id_;
    std::string mark_;
    bool told_ = false;
};

awaitable<sandbox::run_result> run_with_relay(sandbox::backend& backend, sandbox::run_request request,
                                              std::shared_ptr<channel_relay> relay, output_collector& output)
{
    const auto executor = co_await asio::this_coro::executor;
    task_group beside(executor);
    beside.spawn("package relay", relay->run());
    auto result = co_await backend.run(std::move(request), output);
    co_return result;
}

}  // namespace

sandbox_packages::sandbox_packages(const settings& chosen, asio::any_io_executor executor, sandbox::backend& backend,
                                   sandbox_runner& runs)
    : chosen_(chosen),
      executor_(executor),
      backend_(backend),
      runs_(runs),
      guard_(executor, std::make_shared<egress_policy>(std::vector<egress_entry>{}, std::vector<egress_entry>{}))
{
}

// Asked in a place of its own: what a caller put into a sandbox must not say where the server lets it reach.
awaitable<package_origin> sandbox_packages::origin(package_kind kind)
{
    package_origin made;
    made.index = chosen_index(kind);
    if (!made.index.empty()) {
        if (kind == package_kind::pip) made.hosts = chosen_.pypi_hosts;
        co_return made;
    }
    if (const auto known = defaults_.find(kind); known != defaults_.end()) co_return known->second;
    sandbox::run_request question;
    question.argv = {chosen_.python_interpreter};
    question.programs.all = true;
    question.limits = common_limits(chosen_);
    question.limits.wall = time_of_question;
    question.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
    question.label = "package index";
    made = co_await default_package_origin(backend_, std::move(question), kind);
    if (made.index.empty())
        throw sandbox_error("NotAvailable", kind == package_kind::pip
                                                ? "No package index is known: pip is not installed on the server. "
                                                  "Install its package python3-pip there (apt-get install "
                                                  "python3-pip); PYPI_INDEX_URL may then name another index."
                                                : "No package registry is known: npm is not installed on the server. "
                                                  "Install its package npm there (apt-get install npm); "
                                                  "NPM_REGISTRY_URL may then name another registry.");
    defaults_[kind] = made;
    co_return made;
}

// A chosen index is where its operator says, also where that is no public address; the other hosts must be public.
std::shared_ptr<const egress_policy> sandbox_packages::policy(package_kind kind, const package_origin& origin) const
{
    const auto own = egress_entry::parse(place_of(origin.index).entry);
    std::vector<egress_entry> allowed{own}, private_ones;
    for (const auto& entry : chosen_.web_allowed_private) private_ones.push_back(egress_entry::parse(entry));
    if (!chosen_index(kind).empty()) private_ones.push_back(own);
    for (const auto& host : origin.hosts) allowed.push_back(egress_entry::parse(host));
    return std::make_shared<egress_policy>(std::move(allowed), std::move(private_ones));
}

sandbox::run_request sandbox_packages::request(const sandbox_record& where, package_kind kind,
                                               const std::vector<std::string>& names, const package_origin& origin,
                                               const run_options& options) const
{
    auto made = runs_.base(where);
    const std::string python = runs_.interpreter(where);
    made.argv = python_arguments(python_home::sandbox, python, std::string(package_driver));
    const auto place = place_of(origin.index);
    std::vector<std::string> command;
    if (kind == package_kind::pip) {
        command = {python,
                   "-m",
                   "pip",
                   "install",
                   "--user",
                   "--no-input",
                   "--disable-pip-version-check",
                   "--no-cache-dir",
                   "--no-warn-script-location",
                   "--progress-bar",
                   "off",
                   "--retries",
                   "1",
                   "--timeout",
                   "20",
                   "--index-url",
                   origin.index};
        if (!chosen_.pypi_allow_source) command.insert(command.end(), {"--only-binary", ":all:"});
        if (!place.encrypted) command.insert(command.end(), {"--trusted-host", place.host});
        command.emplace_back("--");
    } else {
        command = {runs_.in_image(where) ? "npm" : npm_program,
                   "install",
                   "--no-audit",
                   "--no-fund",
                   "--no-update-notifier",
                   "--registry",
                   origin.index};
        if (!chosen_.pypi_allow_source) command.emplace_back("--ignore-scripts");
        command.emplace_back("--");
    }
    made.argv.insert(made.argv.end(), command.begin(), command.end());
    made.argv.insert(made.argv.end(), names.begin(), names.end());
    for (auto& variable : python_variables(python_home::sandbox)) made.environment.push_back(std::move(variable));
    made.environment.emplace_back("PIP_BREAK_SYSTEM_PACKAGES",
                                  "1");  // the system's are read-only and nobody else's anyway
    made.environment.emplace_back("PIP_CONFIG_FILE", "/dev/null");
    made.limits.wall = chosen_timeout(options.timeout, chosen_.install_timeout, chosen_.install_timeout);
    made.result_channel = true;
    made.label = options.label;
    return made;
}

awaitable<package_outcome> sandbox_packages::install(caller who, request_io& io, sandbox_record where,
                                                     package_kind kind, std::vector<std::string> names,
                                                     run_options options)
{
    check(kind, names);
    auto work = run(std::move(who), io, where, kind, std::move(names), std::move(options));
    auto outcome = co_await runs_.guarded(std::move(where), std::move(work));
    co_return outcome;
}

awaitable<package_outcome> sandbox_packages::run(caller who, request_io& io, sandbox_record where, package_kind kind,
                                                 std::vector<std::string> names, run_options options)
{
    auto entering = runs_.admit(std::move(who), io);
    const auto place = co_await std::move(entering);
    const auto from = co_await origin(kind);
    if (!std::exchange(listening_, true)) guard_.start();
    json::value sentence = json::string(fetching(names, place_of(from.index).host));
    co_await io.log(log_severity::info, "packages", std::move(sentence));
    const auto ticket =
        guard_.issue("install_packages", policy(kind, from), egress_limits{.bytes = chosen_.sandbox_disk_quota});
    auto made = request(where, kind, names, from, options);
    made.environment.emplace_back("PROXY_LOGIN", ticket->user() + ":" + ticket->password());
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::system_error(errno, std::generic_category(), "socketpair");
    made.channel = std::make_shared<unique_fd>(ends[1]);
    const auto relay = std::make_shared<channel_relay>(executor_, unique_fd(ends[0]), guard_.port());
    const std::string workspace = made.workspace;
    const auto limits = made.limits;
    auto kept = std::make_shared<sandbox::run_request>(std::move(made));
    collected_work work = [this, kept, relay](output_collector& output) {
        return run_with_relay(backend_, std::move(*kept), relay, output);
    };
    package_outcome outcome;
    marked_install marked(runs_.sandboxes(), where.id);
    auto collecting = runs_.runs().collect(io, workspace, options.max_output, std::move(work));
    outcome.run = co_await std::move(collecting);
    outcome.run.limits = limits;
    const auto report = jsonrpc::read_object(outcome.run.end.result);
    const auto before = versions(report, "before");
    const auto after = versions(report, "after");
    if (report.contains("after")) {
        runs_.sandboxes().store().set_packages(where.id, after);
        marked.told();
    }
    for (const auto& [name, version] : after) {
        const auto found = before.find(name);
        if (found == before.end() || found->second != version) outcome.installed.push_back(name + "==" + version);
    }
    outcome.problem = package_problem(outcome.run, kind, ticket->refusals(), from.index);
    co_return outcome;
}

}  // namespace cmcp
