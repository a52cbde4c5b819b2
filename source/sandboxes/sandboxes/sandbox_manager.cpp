#include "sandboxes/sandbox_manager.hpp"

#include "async/uncancelled.hpp"
#include "config/settings.hpp"
#include "files/trees.hpp"
#include "http/signed_link.hpp"
#include "log/log.hpp"
#include "sandboxes/place_memory.hpp"
#include "text/account_name.hpp"
#include "text/encodings.hpp"
#include "text/time_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>

namespace cmcp {

namespace {

using namespace std::chrono_literals;

std::string session_digest(const caller& who)
{
    return who.session.empty() ? std::string() : sha256_hex(who.session).substr(0, 40);
}

bool plain_in_name(unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'); }

// RFC 3986 unreserved characters and '/' stand for themselves.
std::string encoded_path(const std::string& path)
{
    return percent_encoded(path, [](unsigned char c) { return plain_in_name(c) || c == '/' || c == '~'; });
}

std::string without_end_slashes(std::string url)
{
    while (url.ends_with('/')) url.pop_back();
    return url;
}

[[noreturn]] void not_found(const std::string& id_or_name)
{
    throw sandbox_error("NotFound", "There is no sandbox \"" + id_or_name.substr(0, 100) +
                                        "\"; list_sandboxes shows yours, create_sandbox makes one.");
}

// The caller without a name is everybody.
std::uint64_t share_of_a_caller(const settings& config)
{
    const auto memory = memory_of_this_place();
    return config.callers_have_names() ? memory / 2 : memory - memory / 4;
}

[[noreturn]] void refuse_other_sandbox()
{
    throw sandbox_error(
        "Forbidden",
        "Code in a sandbox uses its own sandbox alone, which it need not name, and makes no others. "
        "The operator opens the caller's other sandboxes to it with SANDBOX_TOOLS_REACH_OUT=sandboxes.");
}

}  // namespace

sandbox_manager::sandbox_manager(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                                 blocking_pool& pool, const record_folder& folder, quotas& limits, handle_maker handles)
    : config_(config),
      limits_(limits),
      executor_(executor),
      pool_(pool),
      handles_(std::move(handles)),
      homes_(config.sandbox_root, config.workspace_per_session),
      places_(folder.path()),
      store_(folder.database()),
      cells_(backend),
      network_(executor, config, backend, store_, limits, pool),
      tools_(config),
      public_url_(without_end_slashes(config.public_url)),
      images_(config),
      fetches_(config, executor, images_, image_fetcher_program(config)),
      memory_of_a_caller_(share_of_a_caller(config)),
      tasks_(executor),
      leases_(executor, *this)
{
    tools_.lead_out_by([this](const std::string& id) { return network_.way_out_of(id); });
    if (folder.alone()) reconcile();
}

double sandbox_manager::now() { return seconds_since_1970(); }

void sandbox_manager::set_public_url(std::string url)
{
    if (config_.public_url.empty()) public_url_ = without_end_slashes(std::move(url));
}

const std::string& sandbox_manager::address_for(const caller& who) const
{
    return public_url_.empty() || who.address.empty() ? public_url_ : who.address;
}

std::string sandbox_manager::uri_of(const sandbox_record& where, const std::string& path)
{
    return "sandbox://" + where.id + "/" + encoded_path(path);
}

std::string sandbox_manager::link_to(const caller& who, const sandbox_record& where, const std::string& path) const
{
    const std::string& address = address_for(who);
    if (address.empty()) return uri_of(where, path);
    const std::string inside = config_.sandbox_work_dir + "/" + path;
    std::string link = address + "/sandbox/file?sandbox_id=" + where.id + "&file_path=" + encoded_path(inside);
    if (!config_.callers_have_names()) return link;
    const auto is_owner = [&](const auto& token) { return token.first == where.owner; };
    const bool named = std::ranges::none_of(config_.auth_tokens, is_owner);
    const auto expires = static_cast<std::int64_t>(now()) + config_.link_ttl / 1s;
    return link + signed_query({where.id, inside, expires}, where.owner, config_.link_key, named);
}

void sandbox_manager::check_name(std::string_view name)
{
    const auto allowed = [](char c) { return plain_in_name(static_cast<unsigned char>(c)) || c == ' '; };
    const bool good = !name.empty() && name.size() <= 64 &&
                      std::isalnum(static_cast<unsigned char>(name.front())) != 0 && name.back() != ' ' &&
                      std::all_of(name.begin(), name.end(), allowed) && !name.starts_with("sbx_") &&
                      !name.starts_with("snp_");
    if (good) return;
    throw sandbox_error("InvalidArgument",
                        "name must have 1 to 64 letters, digits, '.', '_', '-' or spaces, begin with a letter or "
                        "digit, and not look like a handle.");
}

void sandbox_manager::check_user(std::string_view name)
{
    if (name.empty() || is_account_name(name)) return;
    throw sandbox_error("InvalidArgument",
                        "user is the name of an account: 1 to 32 lower-case letters, digits, '_' or '-', a letter or "
                        "'_' first, and none that systems have for themselves, as root.");
}

void sandbox_manager::warn_of_default_image() const
try {
    images_.check({});
} catch (const sandbox_error& missing) {
    log::warning("no_default_image", {{"reason", json::string(missing.what())}});
}

void sandbox_manager::check_maker(const caller& who, const std::string& image) const
{
    if (who.code && !who.code->sandboxes) refuse_other_sandbox();
    if (who.code && !who.code->network && images_.to_fetch(image))
        throw sandbox_error("Forbidden",
                            "Code in a sandbox fetches no image from a registry: take one that is there. The operator "
                            "lets code fetch some with SANDBOX_TOOLS_REACH_OUT=network.");
}

std::string sandbox_manager::check_labels(const std::vector<std::string>& wanted) const
{
    if (wanted.empty()) return {};
    const auto labels = read_labels(wanted);
    if (!labels) throw sandbox_error("InvalidArgument", "Labels are texts of the form name=value, as \"gpu=a100\".");
    if (!has_labels_)
        throw sandbox_error("InvalidArgument",
                            "Labels choose among the servers of a cluster, and this server is "
                            "alone (CLUSTER_ETCD is not set): leave them out.");
    has_labels_(*labels);
    return labels_text(*labels);
}

bool sandbox_manager::offers_machines(const caller& who) const
{
    return config_.allows_machines() && limits_.of(who.principal).machines != 0;
}

void sandbox_manager::check_class(const caller& who, const new_sandbox& wanted)
{
    if (!wanted.machine) return;
    if (config_.allows_machines()) {
        const auto all = store_.list(who.principal);
        const auto machines = std::ranges::count_if(all, [](const sandbox_record& each) { return each.machine; });
        if (static_cast<std::uint64_t>(machines) < limits_.of(who.principal).machines) return;
        throw sandbox_error("QuotaExceeded", "There are as many sandboxes of class machine as " +
                                                 limits_.refusal_in_words(who.principal, &principal_limits::machines) +
                                                 ". Leave machine out, or delete one with delete_sandbox first.");
    }
    if (config_.sandbox_backend != "native")
        throw sandbox_error("NotAvailable",
                            "Firejail makes no sandboxes of class machine; the server's operator can set "
                            "SANDBOX_BACKEND=native.");
    throw sandbox_error("Forbidden",
                        "This server makes no sandboxes of class machine: SANDBOX_REQUIRE names strict. Leave machine "
                        "out; pip and npm packages are installed without it.");
}

sandbox_record sandbox_manager::describe(const caller& who, const new_sandbox& wanted)
{
    check_maker(who, wanted.image);
    check_class(who, wanted);
    sandbox_record record;
    record.image = images_.check(wanted.image);
    record.id = handles_.make("sbx");
    record.owner = who.principal;
    record.session = session_digest(who);
    record.passing = wanted.passing && who.session_ends;
    record.network = network_.hosts_of(who, wanted.network);
    record.labels = check_labels(wanted.labels);
    record.machine = wanted.machine;
    check_user(wanted.user);
    if (wanted.user != usual_account) record.user = wanted.user;
    record.name = !wanted.name.empty() ? wanted.name : "sandbox-" + record.id.substr(record.id.size() - 8);
    check_name(record.name);
    record.created = record.last_used = now();
    if (wanted.timeout)
        record.lease = {record.created + *wanted.timeout, *wanted.timeout, wanted.at_timeout == "delete"};
    if (store_.count(record.owner) + being_made_.of(record.owner) >= limits_.of(record.owner).sandboxes)
        throw sandbox_error("QuotaExceeded", "There are as many sandboxes as " +
                                                 limits_.refusal_in_words(record.owner, &principal_limits::sandboxes) +
                                                 "; delete one with delete_sandbox first.");
    check_disk(record.owner, 0);
    return record;
}

// The folder is made first. The next start removes a folder without a record, so a record is always whole. `counted`
// stands for it in the quota until there is a record.
awaitable<sandbox_record> sandbox_manager::make(sandbox_record record, reservations::share counted)
{
    auto work = [places = places_, record] { places.make(record); };
    co_await pool_.run(record.owner, std::move(work));
    std::function<void()> insert = [this, &record, &counted] {
        store_.insert(record);
        counted = {};
    };
    auto taken = "There is a sandbox named \"" + record.name + "\" already; choose another name, or use that one.";
    co_await insert_or_remove(std::move(insert), record.owner, places_.folder(record.id), std::move(taken));
    co_return record;
}

// `folder` belongs to the record that `insert` writes.
awaitable<> sandbox_manager::insert_or_remove(std::function<void()> insert, std::string owner,
                                              std::filesystem::path folder, std::string taken)
{
    try {
        insert();
        co_return;
    } catch (const database_conflict&) {
        // Another record has the name; nothing may be awaited here.
    }
    co_await clear(std::move(owner), std::move(folder));
    throw sandbox_error("NameTaken", taken);
}

awaitable<> sandbox_manager::clear(std::string owner, std::filesystem::path what)
{
    auto discard = [places = places_, what] { return places.discard(what); };
    auto moved = co_await pool_.run(owner, std::move(discard));
    co_await erase(std::move(owner), std::move(moved));
}

awaitable<> sandbox_manager::erase(std::string owner, std::filesystem::path what)
{
    auto removal = remove_tree(std::move(what));
    co_await pool_.run_long(std::move(owner), std::move(removal));
}

awaitable<sandbox_record> sandbox_manager::create(caller who, new_sandbox wanted)
{
    std::shared_ptr<void> turn;
    if (before_making_) turn = co_await before_making_(who.principal, wanted.name);
    auto record = describe(who, wanted);
    auto counted = being_made_.take(record.owner, 1);
    auto work = make(std::move(record), std::move(counted));
    record = co_await uncancelled(std::move(work));
    log::info("sandbox_created",
              {{"principal", log::unless_empty(record.owner)}, {"sandbox", record.id}, {"image", record.image}});
    if (record.lease.ends != 0) leases_.look();
    co_return record;
}

std::vector<sandbox_record> sandbox_manager::list(const caller& who)
{
    auto all = store_.list(who.principal);
    std::erase_if(all, [&](const auto& each) { return !may_use(who, each.id); });
    return all;
}

awaitable<json::array> sandbox_manager::described(caller who,
                                                  std::function<json::array(std::vector<listed_sandbox>)> describe)
{
    auto read = [file = store_.file(), who, describe = std::move(describe)] {
        auto all = sandbox_store::listing(file, who.principal);
        std::erase_if(all, [&](const auto& each) { return !may_use(who, each.record.id); });
        return describe(std::move(all));
    };
    auto rows = co_await pool_.run(who.principal, std::move(read));
    co_return rows;
}

awaitable<std::vector<sandbox_record>> sandbox_manager::all_of(caller who)
{
    auto read = [file = store_.file(), who] {
        std::vector<sandbox_record> all;
        for (auto& each : sandbox_store::listing(file, who.principal))
            if (may_use(who, each.record.id)) all.push_back(std::move(each.record));
        return all;
    };
    auto all = co_await pool_.run(who.principal, std::move(read));
    co_return all;
}

bool sandbox_manager::means_default(const caller& who, const std::string& id_or_name)
{
    if (id_or_name.empty()) return !who.code;
    if (id_or_name != default_name || (who.code && !who.code->default_sandbox)) return false;
    return !store_.find(who.principal, id_or_name);
}

// Code is told the same of a sandbox that is not there.
sandbox_record sandbox_manager::find(const caller& who, const std::string& id_or_name)
{
    if (who.code && id_or_name.empty()) return find(who, who.code->sandbox);
    auto record = id_or_name.empty() ? std::nullopt : store_.find(who.principal, id_or_name);
    if (!record && means_default(who, id_or_name)) record = store_.find_home(homes_.of(who));
    const bool is_open = who.code && record && record->is_default() && who.code->default_sandbox;
    if (who.code && !is_open && !may_use(who, record ? record->id : id_or_name)) refuse_other_sandbox();
    if (!record) not_found(id_or_name);
    before_use_(*record);
    return *record;
}

// Somebody may have taken its folder away.
awaitable<sandbox_record> sandbox_manager::use(caller who, std::string id_or_name)
{
    if (means_default(who, id_or_name)) {
        auto record = store_.find_home(homes_.of(who));
        if (!record) co_await make_default(who);
        if (record && !places_.exists(*record)) {
            auto work = [places = places_, of = *record] { places.make(of); };
            co_await pool_.run(record->owner, std::move(work));
        }
    }
    auto record = find(who, id_or_name);
    co_await leases_.end_of_pause(record.id);
    record = find(who, record.id);
    co_return record;
}

std::optional<sandbox_record> sandbox_manager::existing_default(const caller& who)
{
    if (who.code) return find(who, who.code->sandbox);
    return store_.find_home(homes_.of(who));
}

sandbox_record sandbox_manager::place_of_outputs(const caller& who)
{
    auto record = existing_default(who);
    return record ? *record : new_default({}, who.principal, homes_.of(who));
}

// Another process of the same folder, or another call, may have made it meanwhile.
awaitable<> sandbox_manager::make_default(caller who)
{
    const bool of_session = homes_.is_of_session(who);
    if (bring_default_ && !of_session) co_await bring_default_(who.principal);
    auto home = homes_.of(who);
    if (store_.find_home(home)) co_return;
    auto record = new_default(handles_.make("sbx"), who.principal, std::move(home));
    record.session = of_session ? session_digest(who) : std::string();
    record.passing = of_session && who.session_ends;
    bool is_made = false;
    std::string problem;
    try {
        auto work = [places = places_, record] { places.make(record); };
        co_await pool_.run(record.owner, std::move(work));
        is_made = !store_.find_home(record.home);
        if (is_made) store_.insert(record);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const database_conflict&) {
        is_made = false;
    } catch (const std::system_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty())
        throw sandbox_error("SandboxError", "The default sandbox could not be made: " + problem + ".");
    if (!is_made) co_return co_await clear(record.owner, places_.folder(record.id));
    log::info("sandbox_created", {{"principal", log::unless_empty(record.owner)}, {"sandbox", record.id}});
    measure_soon(record);  // it may have files of an earlier version
}

sandbox_record sandbox_manager::new_default(std::string id, std::string owner, std::string home)
{
    sandbox_record record;
    record.id = std::move(id);
    record.owner = std::move(owner);
    record.image = images_.of_defaults();
    const bool is_free =
        record.id.empty() || (!sandbox_homes::is_of_session(home) && !store_.find(record.owner, default_name));
    record.name = is_free ? default_name : default_name + ("-" + record.id.substr(record.id.size() - 8));
    record.home = std::move(home);
    record.created = record.last_used = now();
    return record;
}

void sandbox_manager::rename(const sandbox_record& record, const std::string& id)
{
    std::filesystem::rename(places_.folder(record.id), places_.folder(id));
    store_.rename(record.id, id);
}

sandbox_record sandbox_manager::latest(const caller& who)
{
    if (who.code) return find(who, who.code->sandbox);
    // Without authentication all clients are one owner, so only the sandboxes of the same session are its own.
    auto record = store_.latest(who.principal, session_digest(who), !who.principal.empty());
    if (!record) throw sandbox_error("StateError", "Sandbox not initialized. Call 'initialize_sandbox' first.");
    before_use_(*record);
    return *record;
}

std::shared_ptr<sandbox_activities::entry> sandbox_manager::enter(const sandbox_record& where)
{
    auto entry = activities_.begin(where.id);
    store_.touch(where.id, now());
    if (where.is_paused()) leases_.look();
    if (!where.services.empty() && used_) used_(where);
    return entry;
}

awaitable<> sandbox_manager::stop_all(sandbox_record stopped)
{
    for (const auto& end : stops_) co_await end(stopped.id);
    admitted_.erase(stopped.id);
    co_await cells_.end(std::move(stopped));
}

awaitable<> sandbox_manager::remove(caller who, std::string id_or_name)
{
    const auto record = find(who, id_or_name);
    if (!store_.begin_delete(record.id)) not_found(id_or_name);
    auto work = destroy(record);
    co_await uncancelled(std::move(work));
}

void sandbox_manager::hold(const caller& who, const sandbox_record& wanted)
{
    if (wanted.passing) store_.hold(wanted.id, session_digest(who), who.session_ends);
}

void sandbox_manager::end_session(const caller& who)
{
    for (auto& each : store_.passing(who.principal, session_digest(who)))
        tasks_.spawn("end a session's sandbox", end_with_session(std::move(each)));
}

// A job may outlive the session, and another session may take the sandbox meanwhile.
awaitable<> sandbox_manager::end_with_session(sandbox_record left)
{
    co_await activities_.quiet(left.id);
    const auto there = store_.find(left.owner, left.id);
    if (!there || !there->passing || there->session != left.session || !store_.begin_delete(left.id)) co_return;
    co_await destroy(std::move(left));
}

// The runs of the sandbox have ended when the record goes.
awaitable<> sandbox_manager::destroy(sandbox_record gone)
{
    const auto& id = gone.id;
    co_await activities_.end_all(id);
    co_await stop_all(gone);
    cells_.forget(id);
    network_.forget(id);
    tools_.forget(id);
    for (auto& folder : places_.folders(gone)) co_await clear(gone.owner, std::move(folder));
    store_.finish_delete(id);
    activities_.forget(id);
    log::info("sandbox_deleted", {{"sandbox", id}});
    for (const auto& tell : deleted_) tell(id);
}

}  // namespace cmcp
