#include "networks/sandbox_network.hpp"

#include "config/settings.hpp"
#include "egress/byte_account.hpp"
#include "egress/held_secret.hpp"
#include "egress/name_addresses.hpp"
#include "egress/network_doors.hpp"
#include "identity/quotas.hpp"
#include "log/log.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "runs/sandbox_error.hpp"
#include "text/time_text.hpp"
#include "text/words.hpp"
#include "wire/run_request.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>

namespace cmcp {

namespace {

const std::string folder_of_files = std::string(sandbox::given_folder) + "/own/";
const std::string bundle_name = "certificates.pem";  // of the system and of the authority
const std::string authority_name = "authority.pem";  // for programs that add it to their own
const std::string wget_name = "wgetrc";

// The programs of images trust what this machine trusts, too. It is a quarter of a megabyte, and read on the loop.
std::string system_certificates()
{
    for (const char* place : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                              "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
        const unique_fd file(::open(place, O_RDONLY | O_CLOEXEC));
        if (file) return read_all(file.get());
    }
    return {};
}

// Gives a cell the files by which programs trust the sandbox's own authority (`certificate`, PEM) beside those of the
// system. All runs of a cell have the same ones.
void add_secret_files(sandbox::run_request& request, const std::string& certificate)
{
    static const std::string of_system = system_certificates();
    request.files.push_back({bundle_name, of_system + "\n" + certificate});
    request.files.push_back({authority_name, certificate});
    request.files.push_back({wget_name, "ca_certificate = " + folder_of_files + bundle_name + "\n"});
}

// Gives a run in such a cell the placeholders of its sandbox's secrets, and the variables that lead to the files.
// wget reads no variable for certificates, but a file of settings.
void add_secret_variables(sandbox::run_request& request, const std::vector<held_secret>& secrets)
{
    if (secrets.empty()) return;
    for (const auto& each : secrets) request.environment.emplace_back(each.name, each.placeholder);
    for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
                             "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT", "NIX_SSL_CERT_FILE"})
        request.environment.emplace_back(name, folder_of_files + bundle_name);
    request.environment.emplace_back("NODE_EXTRA_CA_CERTS", folder_of_files + authority_name);
    request.environment.emplace_back("SYSTEM_WGETRC", folder_of_files + wget_name);
}

// The bytes that the sandboxes of a principal may receive and send together.
class network_account final : public byte_account {
public:
    /// `limits` must outlive this.
    network_account(quotas& limits, std::string principal) : limits_(limits), principal_(std::move(principal)) {}

    bool take(std::uint64_t bytes) override { return limits_.take_network(principal_, bytes); }
    std::string refusal() override;

private:
    quotas& limits_;
    std::string principal_;
};

std::string network_account::refusal()
{
    const auto wait = limits_.network_wait(principal_);
    return "Cut: your sandboxes have received and sent as much in an hour as " +
           limits_.refusal_in_words(principal_, &principal_limits::network) + "; try again in " + seconds_text(wait) +
           ".";
}

}  // namespace

namespace {

constexpr std::chrono::minutes idle_limit{15};

}  // namespace

/// The doors of a live cell. Their service ends with it, and with that the cell's network.
struct sandbox_network::live_network {
    explicit live_network(const asio::any_io_executor& executor) : doors(executor) {}

    std::shared_ptr<std::shared_ptr<egress_ticket>> ticket = std::make_shared<std::shared_ptr<egress_ticket>>();
    std::shared_ptr<name_addresses> names = std::make_shared<name_addresses>();
    task_group doors;
    bool has_secrets = false;  // its cell began with the files for them
    bool is_told = false;      // that others wait
};

sandbox_network::sandbox_network(asio::any_io_executor executor, const settings& config, sandbox::backend& backend,
                                 sandbox_store& store, quotas& limits, blocking_pool& pool)
    : executor_(executor),
      config_(config),
      backend_(backend),
      store_(store),
      limits_(limits),
      questions_(
          config.sandbox_network_ask, [this](const auto& id, const auto& place) { return keep(id, place); },
          [this](const auto& id) { use_policy(id); }),
      lists_(network_lists::of(config)),
      secrets_(config, pool),
      guard_(executor, std::make_shared<const egress_policy>())
{
    backend_.on_doors([this](const sandbox::cell_name& cell, std::vector<unique_fd> doors) {
        try {
            open(cell, std::move(doors));
        } catch (const std::exception& failure) {  // the cell's network is closed then
            log::error("sandbox_network", {{"sandbox", cell.cell}, {"reason", std::string_view(failure.what())}});
        }
    });
}

sandbox_network::~sandbox_network() { stop(); }

void sandbox_network::stop()
{
    questions_.stop();
    backend_.on_doors({});
    serve_tools_ = nullptr;
    live_.clear();
}

void sandbox_network::give_tools(std::function<void(const std::string&, unique_fd)> serve)
{
    serve_tools_ = std::move(serve);
}

bool sandbox_network::is_door(const sandbox_record& of, std::uint16_t port) const
{
    if (!backend_.can_have_doors()) return false;
    if (serve_tools_ && port == sandbox::tools_port) return true;
    if (of.network.empty()) return false;
    return port == sandbox::first_proxy_port || std::ranges::find(lists_.ports, port) != lists_.ports.end();
}

void sandbox_network::join(sandbox::run_request& request, const sandbox_record& of)
{
    if (!backend_.can_have_doors()) return;
    request.tools = serve_tools_ != nullptr;
    if (of.network.empty()) return;
    request.doors = lists_.ports;
    const std::string proxy = "http://127.0.0.1:" + std::to_string(sandbox::first_proxy_port);
    for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
        request.environment.emplace_back(name, proxy);
    for (const char* name : {"no_proxy", "NO_PROXY"}) request.environment.emplace_back(name, "localhost,127.0.0.1,::1");
    const auto secrets = secrets_.of(of);
    if (!begins_with_secrets(of.id, !secrets.empty())) return;
    add_secret_files(request, secrets_.certificate_for(of));
    add_secret_variables(request, secrets);
}

// The files of a cell are made with it, by its first run.
bool sandbox_network::begins_with_secrets(const std::string& id, bool has_some)
{
    const auto live = live_.find(id);
    if (live != live_.end()) return live->second->has_secrets;
    return begins_.try_emplace(id, has_some).first->second;
}

std::vector<sandbox_network::secret_notice> sandbox_network::secrets_of(const sandbox_record& of)
{
    std::vector<secret_notice> all;
    for (const auto& each : secrets_.of(of)) {
        secret_notice notice{each.name, {}, each.position.text()};
        for (const auto& host : each.hosts) {
            const std::string name = (host.is == egress_entry::kind::subdomains ? "*." : "") + host.name;
            const std::string port = host.port == held_secret::usual_port ? "" : ":" + std::to_string(host.port);
            notice.hosts += (notice.hosts.empty() ? "" : ",") + name + port;
        }
        all.push_back(std::move(notice));
    }
    return all;
}

bool sandbox_network::waits_for_secrets(const sandbox_record& of)
{
    const auto live = live_.find(of.id);
    return live != live_.end() && !live->second->has_secrets && !secrets_.of(of).empty();
}

std::string sandbox_network::note_on_secrets(const sandbox_record& of)
{
    if (!waits_for_secrets(of) || std::exchange(live_[of.id]->is_told, true)) return {};
    return "There are secrets for this sandbox, which its programs have after its next start: pause_sandbox ends it.";
}

// A record may be older than the operator's present lists, which count.
std::shared_ptr<egress_ticket> sandbox_network::issue(const sandbox_record& of, bool with_secrets)
{
    egress_limits limits;
    limits.bytes = config_.sandbox_network_bytes;
    limits.idle = idle_limit + config_.sandbox_network_ask;
    auto ticket = guard_.issue(of.id, policy_of(of), limits);
    ticket->ask_by([this, id = of.id](std::shared_ptr<const egress_ticket> by, host who, std::uint16_t port) {
        return questions_.ask(id, std::move(by), std::move(who), port);
    });
    ticket->belong_to(of.owner);
    ticket->charge_to(std::make_shared<network_account>(limits_, of.owner));
    ticket->hold_to_names();
    if (with_secrets) ticket->hold_secrets(secrets_.source_for(of));
    return ticket;
}

void sandbox_network::open(const sandbox::cell_name& cell, std::vector<unique_fd> doors)
{
    const auto before = live_.extract(cell.cell);
    const auto begins = begins_.extract(cell.cell);
    // A run that was on its way when the cell ended makes the next one, with the same files.
    if (doors.empty() && !before.empty() && before.mapped()->has_secrets) begins_[cell.cell] = true;
    if (serve_tools_) {
        unique_fd tools;
        if (!doors.empty()) tools = std::move(doors.back());
        if (!doors.empty()) doors.pop_back();
        serve_tools_(cell.cell, std::move(tools));
    }
    const auto record = store_.find(cell.principal, cell.cell);
    if (!record || doors.empty()) return;
    questions_.forget_refusals(cell.cell);
    auto live = std::make_unique<live_network>(executor_);
    live->has_secrets = !begins.empty() && begins.mapped();
    *live->ticket = issue(*record, live->has_secrets);
    serve_network_doors(guard_, live->doors, std::move(doors), live->names, [slot = live->ticket] { return *slot; });
    live_[cell.cell] = std::move(live);
}

void sandbox_network::renew(const sandbox_record& of)
{
    questions_.renew(of.id);
    const auto live = live_.find(of.id);
    if (live != live_.end())
        *live->second->ticket = of.network.empty() ? nullptr : issue(of, live->second->has_secrets);
}

// Connections go on, in contrast to renew(): the one that was asked about waits among them.
void sandbox_network::use_policy(const std::string& id)
{
    const auto live = live_.find(id);
    if (live == live_.end() || !*live->second->ticket) return;
    if (const auto record = store_.find_of_any(id)) (*live->second->ticket)->use(policy_of(*record));
}

std::shared_ptr<const egress_policy> sandbox_network::policy_of(const sandbox_record& of) const
{
    auto hosts = hosts_in(of);
    for (auto& each : questions_.allowed_for_runs(of.id)) hosts.push_back(std::move(each));
    auto allowed = recorded_entries(of.id, hosts);
    return std::make_shared<const egress_policy>(
        egress_policy::of_sandbox(std::move(allowed), lists_.ceiling, lists_.opened, asks(of)));
}

std::shared_ptr<egress_ticket> sandbox_network::way_out_of(const std::string& id) const
{
    const auto live = live_.find(id);
    if (live != live_.end() && *live->second->ticket) return (*live->second->ticket)->shared_from_this();
    auto nothing = std::make_shared<const egress_policy>(egress_policy::of_sandbox({}, lists_.ceiling, lists_.opened));
    return std::make_shared<egress_ticket>(id, std::move(nothing), egress_limits{});
}

void sandbox_network::reload()
{
    auto lists = network_lists::of(config_);
    lists.ports = std::move(lists_.ports);  // those of the cells that live
    lists_ = std::move(lists);
    for (const auto& [id, live] : live_)
        if (const auto record = store_.find_of_any(id)) renew(*record);
}

void sandbox_network::forget(const std::string& id)
{
    questions_.forget(id);
    live_.erase(id);
    begins_.erase(id);
    secrets_.forget(id);
}

std::vector<std::string> sandbox_network::take_refusals(const std::string& id)
{
    const auto live = live_.find(id);
    std::vector<std::string> sentences;
    if (live == live_.end() || !*live->second->ticket) return sentences;
    std::set<std::string> seen;
    for (auto& refusal : (*live->second->ticket)->take_refusals())
        if (seen.insert(refusal.sentence).second) sentences.push_back(std::move(refusal.sentence));
    return sentences;
}

}  // namespace cmcp
