#include "sandboxes/sandbox_packages.hpp"

#include "async/uncancelled.hpp"
#include "jsonrpc/read_object.hpp"
#include "runs/python_run.hpp"
#include "sandboxes/package_relay.hpp"
#include "text/words.hpp"
#include "wire/packet_socket.hpp"

#include <boost/url/parse.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <regex>

namespace cmcp {

// The Python program that installs packages in a sandbox: it lets connections to a port of the run's own loopback
// through its descriptor 3 (package_relay.hpp), starts the command of its arguments with that port as its
// proxy, and writes
// {"before": {name: version}, "after": {…}} to descriptor 4. PROXY_LOGIN is "user:password" of the proxy.
extern const std::string_view package_driver;

namespace {

constexpr std::size_t most_names = 100;
constexpr auto time_of_question = std::chrono::seconds(20);
constexpr const char* npm_program = "/usr/bin/npm";

// Options, files and addresses are refused, because they would bring in code from elsewhere.
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
    place_of_index place;
    const auto parsed = boost::urls::parse_uri(url);
    if (!parsed) return place;
    place.encrypted = parsed->scheme() == "https";
    place.host = std::string(parsed->encoded_host());
    const std::string port(parsed->port());
    place.entry = place.host + ":" + (!port.empty() ? port : place.encrypted ? "443" : "80");
    return place;
}

void add_words(std::vector<std::string>& command, std::string_view words)
{
    for (std::size_t at = 0; at < words.size();) {
        const auto end = std::min(words.find(' ', at), words.size());
        command.emplace_back(words.substr(at, end - at));
        at = end + 1;
    }
}

void add_pip(std::vector<std::string>& command, const std::string& python, const package_origin& origin, bool source)
{
    const auto place = place_of(origin.index);
    command.push_back(python);
    add_words(command,
              "-m pip install --user --no-input --disable-pip-version-check --no-cache-dir --no-warn-script-location "
              "--progress-bar off --retries 1 --timeout 20");
    if (!source) add_words(command, "--only-binary :all:");
    if (!place.encrypted) command.insert(command.end(), {"--trusted-host", place.host});
    command.insert(command.end(), {"--index-url", origin.index});
}

void add_npm(std::vector<std::string>& command, const char* npm, const package_origin& origin, bool source)
{
    command.emplace_back(npm);
    add_words(command, "install --no-audit --no-fund --no-update-notifier");
    if (!source) add_words(command, "--ignore-scripts");
    command.insert(command.end(), {"--registry", origin.index});
}

std::string fetching(const std::vector<std::string>& names, const std::string& host)
{
    return "Fetching and installing from " + host + ": " + joined(names, ", ");
}

std::map<std::string, std::string> versions(const json::object& from, std::string_view name)
{
    std::map<std::string, std::string> versions_by_name;
    for (const auto& each : object_of(from, name))
        if (each.value().is_string()) versions_by_name.emplace(each.key(), std::string(each.value().get_string()));
    return versions_by_name;
}

/// Marks an installation as under way. After one that ends without a report, the packages are looked for.
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
        if (!reported_) sandboxes_.look_for_packages_soon(id_);
    }
    void reported() { reported_ = true; }

private:
    sandbox_manager& sandboxes_;
    std::string id_;
    std::string mark_;
    bool reported_ = false;
};

awaitable<sandbox::run_result> run_with_relay(sandbox::backend& backend, sandbox::run_request request,
                                              std::shared_ptr<unique_fd> channel, std::uint16_t port,
                                              output_collector& output)
{
    const auto executor = co_await asio::this_coro::executor;
    task_group beside(executor);
    beside.spawn("package relay", relay_packages(std::move(*channel), port));
    auto result = co_await backend.run(std::move(request), output);
    co_return result;
}

}  // namespace

sandbox_packages::sandbox_packages(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                                   sandbox_runner& runs)
    : config_(config),
      backend_(backend),
      runs_(runs),
      guard_(executor, std::make_shared<egress_policy>(std::vector<egress_entry>{}, std::vector<egress_entry>{}))
{
}

// The question is asked outside of the sandbox, because a caller's files must not decide what the server lets it reach.
awaitable<package_origin> sandbox_packages::origin(package_kind kind)
{
    package_origin answer;
    answer.index = chosen_index(kind);
    if (!answer.index.empty()) {
        if (kind == package_kind::pip) answer.hosts = config_.pypi_hosts;
        co_return answer;
    }
    if (const auto known = defaults_.find(kind); known != defaults_.end()) co_return known->second;
    sandbox::run_request question;
    question.argv = {config_.python_interpreter};
    question.programs.all = true;
    question.limits = common_limits(config_);
    question.limits.wall = time_of_question;
    question.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
    question.label = "package index";
    answer = co_await default_package_origin(backend_, std::move(question), kind);
    if (answer.index.empty())
        throw sandbox_error("NotAvailable", kind == package_kind::pip
                                                ? "No package index is known: pip is not installed on the server. "
                                                  "Install its package python3-pip there (apt-get install "
                                                  "python3-pip); PYPI_INDEX_URL may then name another index."
                                                : "No package registry is known: npm is not installed on the server. "
                                                  "Install its package npm there (apt-get install npm); "
                                                  "NPM_REGISTRY_URL may then name another registry.");
    defaults_[kind] = answer;
    co_return answer;
}

// A chosen index is where its operator says, also where that is no public address; the other hosts must be public.
std::shared_ptr<const egress_policy> sandbox_packages::policy(package_kind kind, const package_origin& origin) const
{
    const auto own = egress_entry::parse(place_of(origin.index).entry);
    std::vector<egress_entry> allowed{own}, private_ones;
    for (const auto& entry : config_.web_allowed_private) private_ones.push_back(egress_entry::parse(entry));
    if (!chosen_index(kind).empty()) private_ones.push_back(own);
    for (const auto& host : origin.hosts) allowed.push_back(egress_entry::parse(host));
    return std::make_shared<egress_policy>(std::move(allowed), std::move(private_ones));
}

sandbox::run_request sandbox_packages::install_request(const sandbox_record& where, package_kind kind,
                                                       const std::vector<std::string>& names,
                                                       const package_origin& origin, const run_options& options) const
{
    auto request = runs_.base(where);
    const std::string python = runs_.interpreter(where);
    request.argv = python_arguments(python_home::sandbox, python, std::string(package_driver));
    if (kind == package_kind::pip)
        add_pip(request.argv, python, origin, config_.pypi_allow_source);
    else
        add_npm(request.argv, runs_.in_image(where) ? "npm" : npm_program, origin, config_.pypi_allow_source);
    request.argv.emplace_back("--");
    request.argv.insert(request.argv.end(), names.begin(), names.end());
    for (auto& variable : python_variables(python_home::sandbox)) request.environment.push_back(std::move(variable));
    request.environment.emplace_back("PIP_BREAK_SYSTEM_PACKAGES", "1");  // those are read-only in a run
    request.environment.emplace_back("PIP_CONFIG_FILE", "/dev/null");
    request.limits.wall = chosen_timeout(options.timeout, config_.install_timeout, config_.install_timeout);
    request.result_channel = true;
    request.label = options.request_id;
    return request;
}

awaitable<package_outcome> sandbox_packages::install(caller who, request_io& io, sandbox_record where,
                                                     package_kind kind, std::vector<std::string> names,
                                                     run_options options)
{
    check(kind, names);
    auto work = run(std::move(who), io, where, kind, std::move(names), std::move(options));
    return runs_.guarded(std::move(where), std::move(work));
}

awaitable<package_outcome> sandbox_packages::run(caller who, request_io& io, sandbox_record where, package_kind kind,
                                                 std::vector<std::string> names, run_options options)
{
    const auto place = co_await runs_.admit(std::move(who), io, options.background);
    const auto from = co_await origin(kind);
    if (!std::exchange(listening_, true)) guard_.start();
    json::value sentence = json::string(fetching(names, place_of(from.index).host));
    co_await io.log(log_severity::info, "packages", std::move(sentence));
    const auto ticket =
        guard_.issue("install_packages", policy(kind, from), egress_limits{.bytes = config_.sandbox_disk_quota});
    auto request = install_request(where, kind, names, from, options);
    request.environment.emplace_back("PROXY_LOGIN", ticket->user() + ":" + ticket->password());
    auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    const auto channel = std::make_shared<unique_fd>(std::move(ours));
    output_place output_of{request.principal, request.workspace};
    const auto limits = request.limits;
    auto kept = std::make_shared<sandbox::run_request>(std::move(request));
    collected_work work = [this, kept, channel](output_collector& output) {
        return run_with_relay(backend_, std::move(*kept), channel, guard_.port(), output);
    };
    package_outcome outcome;
    marked_install marked(runs_.sandboxes(), where.id);
    outcome.run = co_await runs_.runs().collect(io, std::move(output_of), options.max_output, std::move(work));
    outcome.run.limits = limits;
    const auto report = jsonrpc::read_object(outcome.run.end.result);
    const auto before = versions(report, "before");
    const auto after = versions(report, "after");
    if (report.contains("after")) {
        runs_.sandboxes().store().set_packages(where.id, after);
        marked.reported();
    }
    for (const auto& [name, version] : after) {
        const auto old = before.find(name);
        if (old == before.end() || old->second != version) outcome.installed.push_back(name + "==" + version);
    }
    outcome.problem = package_problem(outcome.run, kind, ticket->refusals(), from.index);
    co_return outcome;
}

}  // namespace cmcp
