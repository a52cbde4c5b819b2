#include "e2b/e2b_api.hpp"

#include "config/sandbox_settings.hpp"
#include "e2b/replies.hpp"
#include "http/http_refusal.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "mcp/silent_io.hpp"
#include "sandboxes/http_refusals.hpp"
#include "text/handles.hpp"
#include "text/number.hpp"
#include "text/random_id.hpp"
#include "text/words.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

// E2B's control plane, and what becomes of sandboxes at the end of their leases.
namespace cmcp::e2b {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_body = 256 * 1024;
constexpr std::size_t most_of_page = 100, most_forks = 100;
constexpr double usual_lease = 300;                  // seconds
constexpr double longest_lease = 365 * 24 * 3600.0;  // seconds

http_reply no_such_sandbox(std::string_view id)
{
    return error_reply(
        404, "sandbox \"" + std::string(id.substr(0, 100)) + "\" doesn't exist or you don't have access to it");
}

// One that nobody used for long, and that was stopped, is there for the next request.
std::string_view state_of(const sandbox_record& where) { return where.is_paused() ? "paused" : "running"; }

// As E2B's clients tell them apart.
int status_of(const sandbox_error& refused)
{
    if (refused.type == "NotFound") return 404;
    if (refused.type == "QuotaExceeded" || refused.type == "Busy") return 429;
    if (refused.type == "NameTaken" || refused.type == "StateError") return 409;
    if (refused.type == "Forbidden") return 403;
    if (refused.type == "SandboxError") return 500;
    if (refused.type == "SnapshotStoreError" || refused.type == "NodeCutOff") return 503;
    return 400;
}

double lease_in(const json::object& body)
{
    const auto seconds = number_of(body, "timeout", static_cast<std::int64_t>(usual_lease));
    if (seconds < 0 || static_cast<double>(seconds) > longest_lease)
        throw http_refusal(400, "timeout is a number of seconds from 0 to " +
                                    std::to_string(static_cast<std::int64_t>(longest_lease)) + ".");
    return static_cast<double>(seconds);
}

const std::string unnamed;  // the sandbox gets a name

bool is_usual_template(std::string_view name) { return name == "base" || name == "code-interpreter-v1"; }

// "All other hosts" is what an allow list means here anyway.
bool denies_the_rest(const json::object& network)
{
    const auto denied = texts_in(network, "denyOut");
    return std::ranges::find(denied, "0.0.0.0/0") != denied.end();
}

std::vector<std::string> usual_hosts(std::vector<std::string> setting)
{
    std::erase(setting, "none");
    return setting;
}

std::optional<network_wish> wish_of(const json::object& network, std::optional<bool> internet, bool offered)
{
    auto allowed = texts_in(network, "allowOut");
    if (!allowed.empty()) return network_wish{std::move(allowed), false};
    if ((internet && !*internet) || denies_the_rest(network) || !offered) return network_wish{};
    return std::nullopt;
}

bool fits_metadata(const terms& of, const std::string& query)
{
    for (const auto part : split(query, '&')) {
        if (part.empty()) continue;
        const auto equals = std::min(part.find('='), part.size());
        // Each is encoded twice: by the client, and as a form.
        const auto plain = [](std::string_view text) {
            std::string blanks(text);
            std::ranges::replace(blanks, '+', ' ');
            return percent_decoded(percent_decoded(blanks));
        };
        const auto value = equals == part.size() ? std::string() : plain(part.substr(equals + 1));
        if (text_of(of.metadata, plain(part.substr(0, equals))) != value) return false;
    }
    return true;
}

/// The rows of one answer, and in its header where the next ones begin.
template <class Row, class Describe>
http_reply page_of(const std::vector<Row>& all, const http_request& request, Describe describe)
{
    const auto number = [&](std::string_view name, std::size_t otherwise) {
        return read_number<std::size_t>(request.parameter(name).value_or("")).value_or(otherwise);
    };
    const auto most = std::clamp<std::size_t>(number("limit", most_of_page), 1, most_of_page);
    const auto from = std::min(number("nextToken", 0), all.size()), to = std::min(from + most, all.size());
    json::array rows;
    for (auto at = from; at < to; ++at) rows.push_back(describe(all[at]));
    auto reply = json_reply(200, rows);
    if (to < all.size()) reply.with("X-Next-Token", std::to_string(to));
    return reply;
}

}  // namespace

struct e2b_api::call {
    http_request& request;
    caller who;
    std::vector<std::string> segments;  // without the version of the API
    json::object body{};

    bool is(std::string_view method) const { return request.method == method; }
    std::string segment(std::size_t at) const { return at < segments.size() ? segments[at] : std::string(); }
    std::string parameter(std::string_view name) const { return request.parameter(name).value_or(""); }
};

e2b_api::e2b_api(parts of)
    : of_(std::move(of)),
      daemons_(of_.executor, of_.cells, of_.runs),
      code_(of_.kernels, of_.config.sandbox_work_dir),
      maker_(of_.runs),
      templates_(of_.executor, of_.cells, of_.runs, of_.files, maker_)
{
    sandboxes().on_stop([this](std::string id) { return daemons_.end(std::move(id)); });
    sandboxes().count_idle([this](const std::string& id) { return daemons_.lives_in(id) ? 1u : 0u; });
    sandboxes().on_delete([this](const std::string& id) {
        readings_.erase(id);
        code_.forget(id);
    });
}

awaitable<> e2b_api::stop()
{
    co_await templates_.stop();
    co_await daemons_.stop();
}

void e2b_api::keep(const sandbox_record& where, const terms& of)
{
    sandboxes().store().set_terms(where.id, text_of_terms(of));
}

void e2b_api::lease(sandbox_record& where, double ends, double length, bool deletes)
{
    where.lease = {ends, length, deletes};
    sandboxes().leases().set(where.id, where.lease);
}

std::string e2b_api::subject_of(const http_request& request) const
{
    if (auto port = request.header("e2b-sandbox-id")) return handle_of(*port);
    if (const auto label = read_label(request.header("host").value_or(""), of_.config.preview_domain))
        return "sbx_" + label->node + "_" + label->digits;
    const auto all = split(std::string_view(request.path).substr(1), '/');
    return all.size() > 1 && all[0] == "sandboxes" ? handle_of(all[1]) : std::string();
}

e2b_api::subject e2b_api::find(const caller& who, const std::string& id)
{
    const auto handle = handle_of(id);
    if (handle.empty()) throw sandbox_error("NotFound", {});
    auto where = sandboxes().find(who, handle);
    auto of = terms_of(where);
    if (of && of->is_snapshot()) throw sandbox_error("NotFound", {});
    if (!of) {  // it was made in another way
        of.emplace();
        of->token = random_id();
        of->started = where.created;
    }
    return {std::move(where), std::move(*of)};
}

std::vector<e2b_api::subject> e2b_api::all_of(const caller& who)
{
    std::vector<subject> all;
    for (auto& each : sandboxes().list(who))
        if (auto of = terms_of(each)) all.push_back({std::move(each), std::move(*of)});
    return all;
}

awaitable<> e2b_api::serve(exchange& x)
{
    http_request& request = x.request();
    call from{request, {}, {}};
    from.who.principal = request.principal;
    if (request.who) from.who.scopes = request.who->scopes;
    for (const auto part : split(std::string_view(request.path).substr(1), '/'))
        if (!part.empty()) from.segments.push_back(percent_decoded(part));
    if (from.segment(0) == "v2" || from.segment(0) == "v3") from.segments.erase(from.segments.begin());
    auto reply = co_await answer_refusals(std::move(from));
    co_await x.reply(std::move(reply));
}

awaitable<http_reply> e2b_api::answer_refusals(call from)
{
    http_reply reply;
    try {
        if (from.request.body.size() > longest_body) throw http_refusal(413, "The body has at most 256 KiB.");
        if (!from.request.body.empty() && !jsonrpc::is_object_text(from.request.body))
            throw http_refusal(400, "The body is not a JSON object.");
        from.body = jsonrpc::read_object(from.request.body);
        reply = co_await answer(from);
    } catch (const http_refusal& refused) {
        reply = refused.reply();
    } catch (const sandbox_error& refused) {
        reply = refused.type == "NotFound" && from.segment(0) == "sandboxes"
                    ? no_such_sandbox(from.segment(1))
                    : error_reply(status_of(refused), refused.what());
    }
    co_return reply;
}

awaitable<http_reply> e2b_api::answer(call from)
{
    const auto first = from.segment(0);
    const auto many = from.segments.size();
    http_reply reply = error_reply(404, "There is no such path in this part of E2B's API.");
    if (first == "sandboxes" && many == 1 && from.is("POST"))
        reply = co_await make(std::move(from));
    else if (first == "sandboxes" && many == 1)
        reply = co_await list(std::move(from));
    else if (first == "sandboxes")
        reply = co_await about_sandbox(std::move(from));
    else if (first == "snapshots" && many == 1)
        reply = co_await snapshots(std::move(from));
    else if (first == "templates" && many == 2 && from.is("DELETE") && find_snapshot(from.who, from.segment(1)))
        reply = co_await remove_snapshot(from, from.segment(1));
    else if (first == "templates" && many == 3 && from.segment(1) == "aliases" && from.is("GET"))
        reply = about_alias(from.who, from.segment(2));
    else if (first == "templates")
        reply = co_await templates_.serve(from.who, from.request, from.segments, from.body);
    co_return reply;
}

awaitable<http_reply> e2b_api::about_sandbox(call from)
{
    auto at = find(from.who, from.segment(1));
    const auto order = from.segment(2);
    http_reply reply = error_reply(404, "There is no such path in this part of E2B's API.");
    if (order.empty() && from.is("GET")) {
        reply = json_reply(200, described(at));
    } else if (order.empty() && from.is("DELETE")) {
        co_await sandboxes().remove(from.who, at.where.id);
        reply = nothing();
    } else if (order == "metrics" && from.is("GET")) {
        const auto end = read_number<double>(from.parameter("end"));
        reply = json_reply(200, json::array());
        if (!end || *end >= at.of.started) reply = co_await metrics(std::move(at));
    } else if (order == "network" && from.is("PUT")) {
        reply = co_await set_network(std::move(from), std::move(at));
    } else if (from.is("POST") && (order == "timeout" || order == "refreshes")) {
        const auto seconds = from.body.contains("duration") ? static_cast<double>(number_of(from.body, "duration"))
                                                            : lease_in(from.body);
        const auto end = sandbox_manager::now() + seconds;
        lease(at.where, order == "timeout" ? end : std::max(end, at.where.lease.ends), seconds, at.where.lease.deletes);
        keep(at.where, at.of);
        reply = nothing();
    } else if (from.is("POST") && (order == "connect" || order == "resume")) {
        co_await sandboxes().leases().end_of_pause(at.where.id);
        at = find(from.who, from.segment(1));
        reply = co_await connect(std::move(from), std::move(at));
    } else if (from.is("POST") && order == "pause") {
        reply = error_reply(409, "The sandbox is paused already.");
        if (at.where.is_paused()) co_return reply;
        sandbox_error why("StateError", "The sandbox was paused meanwhile: its processes ended, its files are kept.");
        co_await sandboxes().leases().pause(std::move(at.where), std::move(why));
        reply = nothing();
    } else if (from.is("POST") && order == "fork") {
        reply = co_await fork(std::move(from), std::move(at));
    } else if (from.is("POST") && order == "snapshots") {
        reply = co_await snapshot(std::move(from), std::move(at));
    }
    co_return reply;
}

awaitable<sandbox_record> e2b_api::make_record(caller who, terms& as, const json::object& wish)
{
    const auto template_of_caller = is_usual_template(as.made_from) ? std::nullopt : find_snapshot(who, as.made_from);
    const auto built = template_of_caller ? std::nullopt : templates_.find(who, as.made_from);
    if (template_of_caller || built) {
        const auto& from = built ? built->where : template_of_caller->where;
        if (built) as.recipe = built->of.recipe;
        auto copy = co_await sandboxes().fork(std::move(who), from.id, unnamed);
        co_return copy;
    }
    new_sandbox fresh;
    if (!is_usual_template(as.made_from)) fresh.image = as.made_from;
    try {
        if (!fresh.image.empty()) static_cast<void>(sandboxes().images().check(fresh.image));
    } catch (const sandbox_error& unknown) {
        throw http_refusal(404, "template '" + as.made_from + "' not found: " + unknown.what());
    }
    fresh.network = wish_of(object_of(wish, "network"), as.internet, sandboxes().offers_network());
    auto record = co_await maker_.make(std::move(who), std::move(fresh));
    co_return record;
}

awaitable<http_reply> e2b_api::make(call from)
{
    const auto& wish = from.body;
    terms of;
    if (auto wanted = text_of(wish, "templateID"); !wanted.empty()) of.made_from = std::move(wanted);
    of.token = random_id();
    of.metadata = object_of(wish, "metadata");
    of.variables = object_of(wish, "envVars");
    of.network = object_of(wish, "network");
    if (wish.contains("allow_internet_access")) of.internet = flag_of(wish, "allow_internet_access");
    of.resumes = flag_of(object_of(wish, "autoResume"), "enabled");
    of.secure = !wish.contains("secure") || flag_of(wish, "secure");
    of.is_open = !of.network.contains("allowPublicTraffic") || flag_of(of.network, "allowPublicTraffic");
    const auto seconds = lease_in(wish);
    auto record = co_await make_record(from.who, of, wish);
    for (const auto& [name, value] : object_of(of.recipe, "variables"))
        if (!of.variables.contains(name)) of.variables[name] = value;
    of.started = sandbox_manager::now();
    keep(record, of);
    lease(record, of.started + seconds, seconds, !flag_of(wish, "autoPause"));
    if (!of.recipe.empty()) co_await templates_.begin_programs(from.who, record, of.recipe);
    co_return json_reply(201, row_of_new({std::move(record), std::move(of)}));
}

awaitable<http_reply> e2b_api::list(call from)
{
    auto all = all_of(from.who);
    const auto states = from.parameter("state"), metadata = from.parameter("metadata");
    const auto made_from = from.parameter("template"), after = from.parameter("startedAfter");
    const auto wanted = split(states, ',');
    std::erase_if(all, [&](const subject& each) {
        const std::string_view state = state_of(each.where);
        return each.of.is_snapshot() || (!states.empty() && std::ranges::find(wanted, state) == wanted.end()) ||
               !fits_metadata(each.of, metadata) || (!made_from.empty() && each.of.made_from != made_from) ||
               (!after.empty() && time_text(each.of.started) < after);
    });
    const bool oldest_first = from.parameter("order") == "asc";
    std::ranges::stable_sort(all, [&](const subject& one, const subject& other) {
        return oldest_first ? one.of.started < other.of.started : one.of.started > other.of.started;
    });
    co_return page_of(all, from.request, [this](const subject& each) { return described(each); });
}

awaitable<http_reply> e2b_api::connect(call from, subject at)
{
    const bool was_paused = at.where.is_paused();
    if (from.segment(2) == "resume" && !was_paused) co_return error_reply(409, "The sandbox is running already.");
    const auto seconds = lease_in(from.body);
    const auto end = sandbox_manager::now() + seconds;
    const auto used = sandboxes().enter(at.where);
    lease(at.where, was_paused ? end : std::max(end, at.where.lease.ends), seconds, at.where.lease.deletes);
    keep(at.where, at.of);
    if (was_paused && !at.of.recipe.empty()) co_await templates_.begin_programs(from.who, at.where, at.of.recipe);
    co_return json_reply(was_paused ? 201 : 200, row_of_new(at));
}

awaitable<http_reply> e2b_api::fork(call from, subject at)
{
    const auto count = number_of(from.body, "count", 1);
    if (count < 1 || count > static_cast<std::int64_t>(most_forks))
        throw http_refusal(400, "count is a number from 1 to " + std::to_string(most_forks) + ".");
    const auto seconds = lease_in(from.body);
    json::array rows;
    for (std::int64_t each = 0; each < count; ++each) {
        silent_io io;
        json::object row;
        try {
            auto copy = co_await of_.kernels.fork(from.who, io, at.where, unnamed);
            subject copied{std::move(copy.where), at.of};
            copied.of.token = random_id();
            copied.of.started = sandbox_manager::now();
            keep(copied.where, copied.of);
            lease(copied.where, copied.of.started + seconds, seconds, at.where.lease.deletes);
            row["sandbox"] = row_of_new(copied);
        } catch (const sandbox_error& refused) {
            row["error"] = json::object{{"code", status_of(refused)}, {"message", refused.what()}};
        }
        rows.push_back(std::move(row));
    }
    co_return json_reply(201, rows);
}

// A template of its own from now on, so it is a sandbox of its own, which nothing runs in.
awaitable<http_reply> e2b_api::snapshot(call from, subject at)
{
    terms of = at.of;
    of.of = at.where.id;
    of.name = text_of(from.body, "name");
    const auto namesake = of.name.empty() ? std::nullopt : find_snapshot(from.who, of.name);
    if (namesake) co_await sandboxes().remove(from.who, namesake->where.id);
    auto copy = co_await sandboxes().fork(from.who, at.where.id, unnamed);
    of.started = sandbox_manager::now();
    keep(copy, of);
    lease(copy, 0, 0, false);
    json::array names;
    if (!of.name.empty()) names.push_back(json::string(of.name));
    co_return json_reply(201, json::object{{"snapshotID", id_of(copy.id) + ":default"}, {"names", std::move(names)}});
}

std::optional<e2b_api::subject> e2b_api::find_snapshot(const caller& who, std::string_view name)
{
    const auto plain = name.substr(0, name.find(':'));
    for (auto& each : all_of(who)) {
        if (!each.of.is_snapshot() || each.of.is_template()) continue;
        if (id_of(each.where.id) == plain ||
            (!plain.empty() && each.of.name.substr(0, each.of.name.find(':')) == plain))
            return std::move(each);
    }
    return std::nullopt;
}

awaitable<http_reply> e2b_api::snapshots(call from)
{
    auto all = all_of(from.who);
    const auto source = from.parameter("sandboxID"), name = from.parameter("name");
    std::erase_if(all, [&](const subject& each) {
        return !each.of.is_snapshot() || each.of.is_template() || (!source.empty() && id_of(each.of.of) != source) ||
               (!name.empty() && each.of.name != name);
    });
    std::ranges::stable_sort(all, std::ranges::greater(), [](const subject& each) { return each.of.started; });
    co_return page_of(all, from.request, [](const subject& each) {
        json::array names;
        if (!each.of.name.empty()) names.push_back(json::string(each.of.name));
        return json::object{{"snapshotID", id_of(each.where.id) + ":default"}, {"names", std::move(names)}};
    });
}

awaitable<http_reply> e2b_api::remove_snapshot(call from, std::string name)
{
    const auto template_of_caller = find_snapshot(from.who, name);
    if (!template_of_caller) throw http_refusal(404, "There is no snapshot " + name.substr(0, 100) + ".");
    co_await sandboxes().remove(from.who, template_of_caller->where.id);
    co_return nothing();
}

http_reply e2b_api::about_alias(const caller& who, const std::string& name)
{
    if (is_usual_template(name)) return json_reply(200, json::object{{"templateID", name}, {"public", true}});
    if (const auto built = templates_.id_of_name(who, name); !built.empty())
        return json_reply(200, json::object{{"templateID", built}, {"public", false}});
    if (const auto template_of_caller = find_snapshot(who, name))
        return json_reply(200, json::object{{"templateID", id_of(template_of_caller->where.id)}, {"public", false}});
    return error_reply(404, "There is no template " + name.substr(0, 100) + ".");
}

awaitable<http_reply> e2b_api::set_network(call from, subject at)
{
    if (from.body.contains("allow_internet_access")) at.of.internet = flag_of(from.body, "allow_internet_access");
    auto wish = wish_of(from.body, at.of.internet, sandboxes().offers_network());
    if (!wish) wish.emplace();
    if (wish->allow.empty() && at.of.internet.value_or(true) && !denies_the_rest(from.body))
        wish->allow = usual_hosts(of_.config.sandbox_network);
    co_await sandboxes().set_network(from.who, at.where.id, std::move(*wish));
    for (const auto* name : {"allowOut", "denyOut", "rules", "egressProxy"}) {
        at.of.network.erase(name);
        if (const auto* said = from.body.if_contains(name)) at.of.network[name] = *said;
    }
    keep(at.where, at.of);
    co_return nothing();
}

awaitable<http_reply> e2b_api::metrics(subject at)
{
    auto live = co_await sandboxes().cells().now();
    json::array rows;
    rows.push_back(metric(at, live[at.where.id]));
    co_return json_reply(200, rows);
}

json::object e2b_api::metric(const subject& at, const sandbox::cell_state& live)
{
    const double now = sandbox_manager::now();
    auto& before =
        readings_.try_emplace(at.where.id, reading{std::chrono::microseconds(0), at.of.started}).first->second;
    const double spent = std::chrono::duration<double>(live.cpu - before.cpu).count();
    const double used = spent > 0 && now > before.at ? 100 * spent / (now - before.at) : 0;
    before = {live.cpu, now};
    return {{"timestamp", time_text(now)},
            {"timestampUnix", static_cast<std::int64_t>(now)},
            {"cpuCount", ::sysconf(_SC_NPROCESSORS_ONLN)},
            {"cpuUsedPct", used},
            {"memUsed", live.memory},
            {"memTotal", of_.memory},
            {"memCache", 0},
            {"diskUsed", at.where.disk},
            {"diskTotal", sandboxes().most_files_of(at.where)}};
}

json::object e2b_api::row_of_new(const subject& at) const
{
    json::object row{{"sandboxID", id_of(at.where.id)}, {"templateID", at.of.made_from},
                     {"alias", at.of.made_from},        {"clientID", handle_maker::node_of(at.where.id)},
                     {"envdVersion", daemon_version},   {"domain", nullptr}};
    if (!of_.config.preview_domain.empty()) row["domain"] = of_.config.preview_domain;
    if (at.of.secure) row["envdAccessToken"] = at.of.token;
    if (!at.of.is_open) row["trafficAccessToken"] = traffic_token(at.of);
    return row;
}

json::object e2b_api::described(const subject& at) const
{
    auto row = row_of_new(at);
    row.erase("envdAccessToken");
    row.erase("trafficAccessToken");
    row["metadata"] = at.of.metadata;
    row["startedAt"] = time_text(at.of.started);
    const auto& ends = at.where.lease.ends;  // one that was made in another way may have none
    row["endAt"] = time_text(ends != 0 ? ends : sandbox_manager::now() + usual_lease);
    row["state"] = state_of(at.where);
    row["cpuCount"] = ::sysconf(_SC_NPROCESSORS_ONLN);
    row["memoryMB"] = of_.memory >> 20;
    row["diskSizeMB"] = of_.config.sandbox_disk_quota >> 20;
    row["volumeMounts"] = json::array();
    if (at.of.internet) row["allowInternetAccess"] = *at.of.internet;
    if (!at.of.network.empty()) row["network"] = at.of.network;
    row["lifecycle"] =
        json::object{{"onTimeout", at.where.lease.deletes ? "kill" : "pause"}, {"autoResume", at.of.resumes}};
    return row;
}

}  // namespace cmcp::e2b
