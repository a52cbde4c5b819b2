#include "packages/sandbox_packages.hpp"

#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/time_text.hpp"
#include "text/words.hpp"

#include <chrono>

namespace cmcp {

namespace {

constexpr auto time_of_question = std::chrono::seconds(20);
constexpr const char* npm_program = "/usr/bin/npm";

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
    marked_install(sandbox_manager& sandboxes, sandbox_record of)
        : sandboxes_(sandboxes), of_(std::move(of)), mark_(sandboxes.places().mark_install(of_.id))
    {
    }
    marked_install(const marked_install&) = delete;
    marked_install& operator=(const marked_install&) = delete;
    ~marked_install()
    {
        sandboxes_.places().unmark_install(of_.id, mark_);
        if (!reported_) sandboxes_.look_for_packages_soon(of_);
    }
    void reported() { reported_ = true; }

private:
    sandbox_manager& sandboxes_;
    sandbox_record of_;
    std::string mark_;
    bool reported_ = false;
};

}  // namespace

sandbox_packages::sandbox_packages(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                                   sandbox_runner& runs, blocking_pool& pool)
    : config_(config),
      backend_(backend),
      runs_(runs),
      client_(executor, config.web_ca_file),
      installing_(backend, runs, pool, client_)
{
    client_.unpack_on(pool);
}

// The question is asked outside of the sandbox, because a caller's files must not decide what the server lets it reach.
awaitable<package_origin> sandbox_packages::origin(package_kind kind)
{
    package_origin answer;
    answer.index = index_setting(kind);
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

const std::string& sandbox_packages::index_setting(package_kind kind) const
{
    return kind == package_kind::pip ? config_.pypi_index_url : config_.npm_registry_url;
}

// An index of the settings is where its operator says, also where that is no public address; the other hosts must be
// public.
std::shared_ptr<const egress_policy> sandbox_packages::policy(package_kind kind, const package_origin& origin,
                                                              const web_url& index)
{
    auto& kept = policies_[kind];
    if (kept) return kept;
    const auto own = egress_entry::parse(index.who.with_port(index.port));
    std::vector<egress_entry> allowed{own}, private_ones;
    for (const auto& entry : config_.web_allowed_private) private_ones.push_back(egress_entry::parse(entry));
    if (!index_setting(kind).empty()) private_ones.push_back(own);
    for (const auto& host : origin.hosts) allowed.push_back(egress_entry::parse(host));
    kept = std::make_shared<egress_policy>(std::move(allowed), std::move(private_ones));
    return kept;
}

awaitable<package_outcome> sandbox_packages::install(caller who, request_io& io, sandbox_record where,
                                                     package_kind kind, std::vector<std::string> names,
                                                     run_options options)
{
    check_package_names(kind, names);
    auto work = run(std::move(who), io, where, kind, std::move(names), std::move(options));
    return runs_.guarded(std::move(where), std::move(work));
}

awaitable<package_outcome> sandbox_packages::run(caller who, request_io& io, sandbox_record where, package_kind kind,
                                                 std::vector<std::string> names, run_options options)
{
    run_admission::slot slot;
    options.may_outlive = options.may_outlive && !options.has_slot;
    std::string key = admission_key(who);
    if (!options.has_slot) slot = co_await runs_.admit(std::move(who), io, options.background);
    const auto of = co_await begin(std::move(where), kind, std::move(names), std::move(options));
    json::value sentence = json::string("Fetching and installing from " + of->index->root().who.text() + ": " +
                                        joined(of->order.names, ", "));
    co_await io.log(log_severity::info, "packages", std::move(sentence));
    overtime beyond{.slot = &slot, .key = std::move(key), .ends = false};
    if (of->time_of_call.count() > 0) beyond.more = of->time - of->time_of_call;
    auto outcome = co_await finish(of, io, std::move(beyond));
    co_return outcome;
}

awaitable<std::shared_ptr<package_work>> sandbox_packages::begin(sandbox_record where, package_kind kind,
                                                                 std::vector<std::string> names, run_options options)
{
    const auto from = co_await origin(kind);
    auto address = read_index_address(kind, from.index);
    auto of = std::make_shared<package_work>();
    egress_limits limits;
    limits.bytes = runs_.sandboxes().limits().of(where.owner).disk;
    of->ticket = std::make_shared<egress_ticket>("install_packages", policy(kind, from, address.url), limits);
    of->ticket->belong_to(where.owner, options.request_id);
    std::string installer = kind == package_kind::npm ? runs_.program(where, "npm", npm_program) : std::string();
    of->order = {kind, std::move(names), std::move(installer), config_.pypi_allow_source};
    of->index = std::make_shared<package_index>(kind, std::move(address.url));
    of->authorization = std::move(address.authorization);
    of->time = chosen_timeout(options.timeout, config_.install_timeout, config_.install_timeout);
    const auto foreground = runs_.command_terms().time(options);
    if (options.may_outlive && !options.background && foreground < config_.install_timeout) {
        of->time = config_.install_timeout;
        of->time_of_call = foreground;
    }
    of->end = std::chrono::steady_clock::now() + of->time;
    of->where = std::move(where);
    of->options = std::move(options);
    co_return of;
}

awaitable<package_outcome> sandbox_packages::finish(std::shared_ptr<package_work> of, request_io& io, overtime beyond)
{
    const auto model = runs_.base(of->where);
    output_location output_of{model.principal, model.workspace};
    collected_work work = [this, of](output_collector& output) { return installing_.run(of, output); };
    package_outcome outcome;
    marked_install marked(runs_.sandboxes(), of->where);
    outcome.run =
        co_await runs_.runs().collect(io, std::move(output_of), of->options.max_output, std::move(work), &beyond);
    outcome.run.limits = model.limits;
    outcome.run.limits.wall = of->time;
    const auto report = jsonrpc::read_object(outcome.run.end.result);
    const auto before = versions(report, "before");
    const auto after = versions(report, "after");
    if (report.contains("after")) {
        runs_.sandboxes().store().set_packages(of->where.id, after);
        marked.reported();
    }
    for (const auto& [name, version] : after) {
        const auto old = before.find(name);
        if (old == before.end() || old->second != version) outcome.installed.push_back(name + "==" + version);
    }
    const std::string longest = seconds_text(config_.install_timeout);
    outcome.problem =
        package_problem(outcome.run, of->order.kind, of->ticket->refusals(), of->index->root().text(), longest);
    co_return outcome;
}

}  // namespace cmcp
