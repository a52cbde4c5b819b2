#include "e2b/templates.hpp"

#include "async/pause.hpp"
#include "e2b/replies.hpp"
#include "http/body_stream.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "mcp/silent_io.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"
#include "text/random_id.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <limits>
#include <utility>

namespace cmcp::e2b {

extern const std::string_view template_step, template_copy;  // programs of bash

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_builds = 1000, most_logs = 10'000, most_logs_of_answer = 100, most_steps = 500;
constexpr std::size_t most_uploads = 1000;
constexpr std::string_view name_of_files = "e2b-template-files";
constexpr std::string_view home_of_user = "/home/user";
constexpr auto between_looks = 200ms;
constexpr auto patience_with_readiness = 120s;
constexpr auto ending_limit_of_builds = 5s;
constexpr std::chrono::hours life_of_programs(24 * 3650);

bool is_usual(std::string_view name)
{
    constexpr std::array<std::string_view, 6> known{
        "", "base", "code-interpreter-v1", "e2bdev/base", "e2bdev/base:latest", "e2bdev/code-interpreter:latest"};
    return std::ranges::find(known, name) != known.end();
}

std::pair<std::string, std::string> name_and_tag(std::string_view text)
{
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return {std::string(text), "default"};
    return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

void check_tag(std::string_view tag)
{
    const bool fits = !tag.empty() && tag.size() <= 128 && std::ranges::all_of(tag, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
    });
    if (!fits) throw http_refusal(400, "A tag has 1 to 128 letters, digits, '.', '_' and '-'.");
}

std::vector<json::object> steps_of(const json::object& wish)
{
    std::vector<json::object> all;
    if (const auto* list = wish.if_contains("steps"); list != nullptr && list->is_array())
        for (const auto& each : list->get_array())
            if (each.is_object()) all.push_back(each.get_object());
    if (all.size() > most_steps) throw http_refusal(400, "A template has at most 500 steps.");
    return all;
}

bool is_forced(const json::object& wish)
{
    return flag_of(wish, "force") ||
           std::ranges::any_of(steps_of(wish), [](const json::object& step) { return flag_of(step, "force"); });
}

// The first is that of the base; each further one has all steps before it in it.
std::vector<std::string> chain_of(const json::object& wish)
{
    std::vector<std::string> chain{sha256_hex(text_of(wish, "fromTemplate") + "\n" + text_of(wish, "fromImage"))};
    for (const auto& each : steps_of(wish)) {
        const json::array parts{text_of(each, "type"), each.contains("args") ? each.at("args") : json::value(),
                                text_of(each, "filesHash")};
        chain.push_back(sha256_hex(chain.back() + jsonrpc::write_json(parts)));
    }
    return chain;
}

struct step_failed {
    std::string step, message;
};

}  // namespace

struct templates::surroundings {
    json::object variables;
    std::string folder{home_of_user};
    std::string user = "user";

    std::string absolute(const std::string& path) const { return path.starts_with('/') ? path : folder + "/" + path; }

    /// What a step changes beside files.
    void heed(const std::string& type, const std::vector<std::string>& arguments)
    {
        if (type == "ENV")
            for (std::size_t at = 0; at + 1 < arguments.size(); at += 2) variables[arguments[at]] = arguments[at + 1];
        if (type == "WORKDIR" && !arguments.empty()) folder = absolute(arguments[0]);
        if (type == "USER" && !arguments.empty()) user = arguments[0];
    }
};

struct templates::build {
    std::string owner, id, of, name;
    std::set<std::string> tags;
    std::string status = "waiting";
    json::array logs;
    std::string failed_step, problem;

    void log(std::string_view level, std::string_view message)
    {
        if (logs.size() < most_logs)
            logs.push_back(
                json::object{{"timestamp", time_text(sandbox_manager::now())}, {"level", level}, {"message", message}});
    }
};

namespace {

/// Output of a step as lines of the build's log, as it comes.
class lines_of_step final : public silent_io {
public:
    using writer = std::function<void(std::string_view line, output_stream from)>;
    explicit lines_of_step(writer to) : to_(std::move(to)) {}

    bool wants_progress() const override { return true; }
    awaitable<> output(double, std::vector<output_text> texts) override
    {
        for (auto& each : texts) add(each.from, each.text);
        co_return;
    }
    void finish()
    {
        for (const auto from : {output_stream::out, output_stream::err}) add(from, rest(from).empty() ? "" : "\n");
    }

private:
    std::string& rest(output_stream of) { return rests_[of == output_stream::out ? 0 : 1]; }
    void add(output_stream from, std::string_view text)
    {
        auto& line = rest(from);
        for (const auto part : text)
            if (part == '\n')
                to_(std::exchange(line, {}), from);
            else
                line += part;
    }

    writer to_;
    std::array<std::string, 2> rests_;
};

}  // namespace

std::vector<templates::made_template> templates::all_of(const caller& who) const
{
    std::vector<made_template> all;
    for (auto& each : runs_.sandboxes().list(who))
        if (auto of = terms_of(each); of && of->is_template()) all.push_back({std::move(each), std::move(*of)});
    std::ranges::stable_sort(all, std::ranges::greater(), [](const made_template& each) { return each.of.started; });
    return all;
}

namespace {

bool is_called(const terms& of, std::string_view name)
{
    return of.name == name || text_of(of.recipe, "template") == name;
}

}  // namespace

std::optional<templates::made_template> templates::find(const caller& who, std::string_view wanted) const
{
    const auto [name, tag] = name_and_tag(wanted);
    for (auto& each : all_of(who)) {
        if (!is_called(each.of, name)) continue;
        const auto tags = texts_in(each.of.recipe, "tags");
        if (std::ranges::find(tags, tag) != tags.end()) return std::move(each);
    }
    return std::nullopt;
}

std::string templates::id_of_name(const caller& who, std::string_view name) const
{
    for (const auto& each : all_of(who))
        if (is_called(each.of, name)) return text_of(each.of.recipe, "template");
    return {};
}

awaitable<http_reply> templates::serve(caller who, const http_request& request, std::vector<std::string> segments,
                                       json::object body)
{
    const auto part = [&](std::size_t at) { return at < segments.size() ? segments[at] : std::string(); };
    const auto many = segments.size();
    const bool posts = request.method == "POST", deletes = request.method == "DELETE", gets = request.method == "GET";
    if (many == 1 && posts) co_return request_build(who, body);
    if (many == 1 && gets) co_return list(who);
    if (part(1) == "tags" && posts) co_return assign_tags(who, body);
    if (part(1) == "tags" && deletes) co_return remove_tags(who, body);
    if (part(2) == "tags" && gets) co_return tags_of(who, part(1));
    if (part(2) == "files" && gets) {
        auto reply = co_await link_for_files(std::move(who), request, part(3));
        co_return reply;
    }
    if (many == 2 && deletes) {
        co_await remove(std::move(who), part(1));
        co_return nothing();
    }
    const auto known = builds_.find(part(3));
    if (part(2) != "builds" || known == builds_.end() || known->second->owner != who.principal ||
        known->second->of != part(1))
        throw http_refusal(404, "There is no such template or build.");
    const auto one = known->second;
    if (gets) co_return status_of(*one, request);
    if (one->status != "waiting") throw http_refusal(409, "The build has begun already.");
    static_cast<void>(steps_of(body));
    one->status = "building";
    tasks_.spawn("build of a template", run_build(one, std::move(who), std::move(body)));
    http_reply accepted;
    accepted.status = 202;
    co_return accepted;
}

http_reply templates::request_build(const caller& who, const json::object& wish)
{
    auto [name, tag] = name_and_tag(text_of(wish, "name").empty() ? text_of(wish, "alias") : text_of(wish, "name"));
    if (name.empty() || name.size() > 128)
        throw http_refusal(400, "name is that of the template: 1 to 128 characters.");
    while (builds_.size() >= most_builds) {
        const auto over = std::ranges::find_if(
            builds_, [](const auto& each) { return each.second->status == "ready" || each.second->status == "error"; });
        if (over == builds_.end()) throw http_refusal(429, "Too many templates are being built: try again later.");
        builds_.erase(over);
    }
    const auto one = std::make_shared<build>();
    auto before = id_of_name(who, name);
    one->owner = who.principal;
    one->id = random_id(16);
    for (const auto at : {8u, 13u, 18u, 23u}) one->id.insert(at, "-");
    one->of = before.empty() ? random_id(10) : std::move(before);
    one->name = name;
    for (auto& each : texts_in(wish, "tags")) one->tags.insert(std::move(each));
    if (one->tags.empty() || tag != "default") one->tags.insert(tag);
    std::ranges::for_each(one->tags, check_tag);
    builds_[one->id] = one;
    return json_reply(202, json::object{{"templateID", one->of},
                                        {"buildID", one->id},
                                        {"public", false},
                                        {"names", json::array{json::string(name)}},
                                        {"aliases", json::array{json::string(name)}},
                                        {"tags", json::array(one->tags.begin(), one->tags.end())}});
}

http_reply templates::status_of(const build& of, const http_request& request) const
{
    const auto offset = read_number<std::size_t>(request.parameter("logsOffset").value_or("0")).value_or(0);
    json::array shown;
    for (auto at = offset; at < of.logs.size() && shown.size() < most_logs_of_answer; ++at)
        shown.push_back(of.logs[at]);
    json::object row{{"templateID", of.of}, {"buildID", of.id}, {"status", of.status}, {"logs", json::array()}};
    row["logEntries"] = std::move(shown);
    if (of.status == "error")
        row["reason"] = json::object{{"message", of.problem}, {"step", of.failed_step}, {"logEntries", json::array()}};
    return json_reply(200, row);
}

http_reply templates::list(const caller& who) const
{
    json::array rows;
    std::set<std::string> seen;
    for (const auto& each : all_of(who)) {
        const auto id = text_of(each.of.recipe, "template");
        if (!seen.insert(id).second) continue;
        rows.push_back(json::object{{"templateID", id},
                                    {"buildID", text_of(each.of.recipe, "build")},
                                    {"buildStatus", "ready"},
                                    {"public", false},
                                    {"names", json::array{json::string(each.of.name)}},
                                    {"aliases", json::array{json::string(each.of.name)}},
                                    {"createdAt", time_text(each.of.started)},
                                    {"updatedAt", time_text(each.of.started)}});
    }
    return json_reply(200, rows);
}

void templates::set_tags(const made_template& of, const std::set<std::string>& tags)
{
    auto changed = of.of;
    changed.recipe["tags"] = json::array(tags.begin(), tags.end());
    runs_.sandboxes().store().set_terms(of.where.id, text_of_terms(changed));
}

namespace {

std::set<std::string> tag_set(const terms& of)
{
    const auto all = texts_in(of.recipe, "tags");
    return {all.begin(), all.end()};
}

}  // namespace

http_reply templates::assign_tags(const caller& who, const json::object& wish)
{
    const auto [name, tag] = name_and_tag(text_of(wish, "target"));
    if (name.empty() || tag.empty()) throw http_refusal(400, "target is name:tag or name, and neither is empty.");
    const auto target = find(who, text_of(wish, "target"));
    if (!target) throw http_refusal(404, "There is no template " + text_of(wish, "target").substr(0, 100) + ".");
    auto tags = tag_set(target->of);
    for (const auto& added : texts_in(wish, "tags")) {
        check_tag(added);
        for (const auto& other : all_of(who)) {
            if (other.where.id == target->where.id || other.of.name != target->of.name) continue;
            auto less = tag_set(other.of);
            if (less.erase(added) != 0) set_tags(other, less);
        }
        tags.insert(added);
    }
    set_tags(*target, tags);
    return json_reply(201, json::object{{"buildID", text_of(target->of.recipe, "build")},
                                        {"tags", json::array(tags.begin(), tags.end())}});
}

http_reply templates::remove_tags(const caller& who, const json::object& wish)
{
    for (const auto& tag : texts_in(wish, "tags")) {
        const auto of = find(who, text_of(wish, "name") + ":" + tag);
        if (!of) throw http_refusal(404, "The template has no tag " + tag.substr(0, 100) + ".");
        auto tags = tag_set(of->of);
        tags.erase(tag);
        set_tags(*of, tags);
    }
    return nothing();
}

http_reply templates::tags_of(const caller& who, const std::string& name) const
{
    json::array rows;
    bool known = false;
    for (const auto& each : all_of(who)) {
        if (!is_called(each.of, name)) continue;
        known = true;
        for (const auto& tag : tag_set(each.of))
            rows.push_back(json::object{{"tag", tag},
                                        {"buildID", text_of(each.of.recipe, "build")},
                                        {"createdAt", time_text(each.of.started)}});
    }
    if (!known) throw http_refusal(404, "There is no template " + name.substr(0, 100) + ".");
    return json_reply(200, rows);
}

awaitable<> templates::remove(caller who, std::string name)
{
    bool known = false;
    for (const auto& each : all_of(who)) {
        if (!is_called(each.of, name)) continue;
        known = true;
        co_await runs_.sandboxes().remove(who, each.where.id);
    }
    if (!known) throw http_refusal(404, "There is no template " + name.substr(0, 100) + ".");
}

// Archives

awaitable<sandbox_record> templates::place_of_files(caller who)
{
    const auto alone = co_await making_.take(who.principal);
    for (auto& each : runs_.sandboxes().list(who))
        if (each.name == name_of_files) co_return std::move(each);
    new_sandbox fresh;
    fresh.name = name_of_files;
    fresh.network.emplace();
    auto place = co_await runs_.sandboxes().create(std::move(who), std::move(fresh));
    co_return place;
}

awaitable<http_reply> templates::link_for_files(caller who, const http_request& request, std::string hash)
{
    if (!is_sha256_hex(hash)) throw http_refusal(400, "The hash of files has 64 hexadecimal digits.");
    const auto where = co_await place_of_files(who);
    if (uploads_.size() >= most_uploads) uploads_.erase(uploads_.begin());
    const auto token = random_id();
    uploads_[token] = {who.principal, hash};
    const std::string scheme = request.secure ? "https://" : "http://";
    co_return json_reply(201, json::object{{"present", false},
                                           {"url", scheme + std::string(request.header("host").value_or("")) +
                                                       "/template-files/" + token}});
}

awaitable<> templates::take_files(exchange& x)
{
    const auto& request = x.request();
    const auto known = uploads_.find(request.path.substr(request.path.rfind('/') + 1));
    http_reply reply = error_reply(404, "The link for these files is over: begin the build again.");
    if (known == uploads_.end() || !request.stream) {
        x.close_after();
        co_await x.reply(std::move(reply));
        co_return;
    }
    const upload to = known->second;
    try {
        caller who;
        who.principal = to.owner;
        const auto where = co_await place_of_files(who);
        auto file = co_await files_.begin(to.owner, where.id, to.hash + ".tar", request.stream->announced());
        for (;;) {
            auto piece = co_await request.stream->next();
            if (!piece) break;
            co_await file->write(std::move(*piece));
        }
        if (request.stream->complete()) {
            co_await file->finish();
            uploads_.erase(request.path.substr(request.path.rfind('/') + 1));
            reply = json_reply(200, json::object());
        }
    } catch (const sandbox_error& refused) {
        reply = error_reply(400, refused.what());
    } catch (const http_refusal& refused) {
        reply = refused.reply();
    }
    if (!request.stream->complete()) x.close_after();
    co_await x.reply(std::move(reply));
}

awaitable<> templates::copy_files(caller who, sandbox_record to, std::string hash)
{
    constexpr std::size_t most_of_piece = 1 << 20;
    const auto from = co_await place_of_files(who);
    if (!is_sha256_hex(hash)) throw sandbox_error("InvalidArgument", "COPY needs the hash of its files.");
    const auto source = co_await files_.download(from, hash + ".tar");
    const auto target = co_await files_.begin(to.owner, to.id, ".template-files.tar", source->size());
    for (std::uint64_t at = 0; at < source->size();) {
        auto piece = co_await source->read(at, most_of_piece);
        if (piece.empty()) break;
        at += piece.size();
        co_await target->write(std::move(piece));
    }
    co_await target->finish();
}

// Builds

sandbox::run_request templates::request_of(const sandbox_record& where, const surroundings& in, std::string user,
                                           std::string command) const
{
    auto request = runs_.base(where);
    request.argv = {"/bin/bash",     "-c",      std::string(template_step), "step",
                    std::move(user), in.folder, std::move(command)};
    request.environment.emplace_back(root_of_figures);
    for (const auto& [name, value] : in.variables)
        if (value.is_string()) request.environment.emplace_back(name, value.get_string());
    return request;
}

awaitable<int> templates::run(build_ptr log, std::string prefix, caller who, sandbox_record where,
                              sandbox::run_request request)
{
    run_options options;
    options.background = true;
    lines_of_step lines([log, prefix](std::string_view line, output_stream from) {
        if (log)
            log->log("info", prefix + (from == output_stream::out ? "[stdout]: " : "[stderr]: ") + std::string(line));
    });
    request.limits.wall = std::chrono::duration_cast<std::chrono::milliseconds>(runs_.command_terms().longest_job);
    auto work = runs_.runs().run(std::move(who), lines, std::move(request), std::move(options));
    auto done = co_await runs_.guarded(std::move(where), std::move(work));
    lines.finish();
    if (!done.refused.empty()) throw sandbox_error("NotAvailable", done.refused);
    if (done.end.why == sandbox::cause::exited) co_return done.end.exit_code;
    throw sandbox_error("NotAvailable",
                        "it was ended (" + std::string(sandbox::to_string(done.end.why)) + ") " + done.end.error);
}

awaitable<sandbox_record> templates::base_of(caller who, json::object wish, std::size_t& done,
                                             std::vector<std::string> chain, bool anew)
{
    done = 0;
    std::optional<made_template> nearest;
    const auto templates_there = all_of(who);
    for (const auto& each : templates_there) {
        const auto theirs = texts_in(each.of.recipe, "chain");
        const bool fits = !anew && theirs.size() <= chain.size() && theirs.size() > done + (nearest ? 1 : 0) &&
                          std::equal(theirs.begin(), theirs.end(), chain.begin());
        if (!fits) continue;
        nearest = each;
        done = theirs.size() - 1;
    }
    const auto wanted = text_of(wish, "fromTemplate");
    if (!nearest && !is_usual(wanted)) {
        nearest = find(who, wanted);
        if (!nearest) throw step_failed{"base", "template '" + wanted.substr(0, 100) + "' not found"};
    }
    sandbox_record base;
    if (nearest) {
        base = co_await runs_.sandboxes().fork(std::move(who), nearest->where.id, std::string());
    } else {
        new_sandbox fresh;
        if (const auto image = text_of(wish, "fromImage"); !is_usual(image)) fresh.image = image;
        base = co_await maker_.make(std::move(who), std::move(fresh));
    }
    co_return base;
}

// Archives that another build may still need stay for that.
void templates::forget_files(const build& of, const std::vector<std::string>& hashes)
{
    const bool is_alone = std::ranges::none_of(builds_, [&](const auto& each) {
        const auto& other = *each.second;
        return other.owner == of.owner && other.id != of.id &&
               (other.status == "waiting" || other.status == "building");
    });
    if (!is_alone) return;
    caller who;
    who.principal = of.owner;
    for (const auto& place : runs_.sandboxes().list(who))
        for (const auto& hash : hashes)
            if (place.name == name_of_files && is_sha256_hex(hash))
                runs_.sandboxes().remove_soon(of.owner, runs_.sandboxes().places().files(place) / (hash + ".tar"));
}

awaitable<> templates::run_build(build_ptr one, caller who, json::object wish)
{
    std::vector<std::string> files;
    for (const auto& each : steps_of(wish)) files.push_back(text_of(each, "filesHash"));
    try {
        co_await make(one, std::move(who), std::move(wish));
        one->log("info", "Build finished");
        one->status = "ready";
    } catch (const step_failed& failed) {
        one->failed_step = failed.step;
        one->problem = failed.message;
    } catch (const boost::system::system_error&) {  // the server stops
        throw;
    } catch (const std::runtime_error& refused) {
        one->failed_step = "base";
        one->problem = refused.what();
    }
    forget_files(*one, files);
    if (one->status != "ready") {
        one->log("error", "Build failed: " + one->problem);
        one->status = "error";
    }
    log::info("template_built", {{"template", one->of}, {"status", one->status}});
}

awaitable<> templates::make(build_ptr one, caller who, json::object wish)
{
    const auto chain = chain_of(wish);
    const auto steps = steps_of(wish);
    std::size_t done = 0;
    one->log("info", "[base] FROM " + text_of(wish, "fromImage") + text_of(wish, "fromTemplate"));
    const auto where = co_await base_of(who, wish, done, chain, is_forced(wish));
    std::optional<step_failed> failure;
    surroundings in;
    if (const auto before = find(who, text_of(wish, "fromTemplate"))) {
        in.variables = object_of(before->of.recipe, "variables");
        if (const auto folder = text_of(before->of.recipe, "folder"); !folder.empty()) in.folder = folder;
        if (const auto user = text_of(before->of.recipe, "user"); !user.empty()) in.user = user;
    }
    for (std::size_t at = 0; at < steps.size() && !failure; ++at) {
        const auto type = text_of(steps[at], "type");
        const auto arguments = texts_in(steps[at], "args");
        const auto head = "[builder " + std::to_string(at + 1) + "/" + std::to_string(steps.size()) + "] ";
        one->log("info", head + (at < done ? "CACHED " : "") + type + " " + joined(arguments, " "));
        try {
            if (at >= done) co_await take_step(one, who, where, in, type, steps[at]);
            in.heed(type, arguments);
        } catch (const boost::system::system_error&) {  // the server stops
            throw;
        } catch (const std::runtime_error& refused) {
            failure = step_failed{std::to_string(at + 1), refused.what()};
        }
    }
    json::object recipe{{"template", one->of},
                        {"build", one->id},
                        {"variables", in.variables},
                        {"folder", in.folder},
                        {"user", in.user},
                        {"start", text_of(wish, "startCmd")},
                        {"ready", text_of(wish, "readyCmd")}};
    recipe["chain"] = json::array(chain.begin(), chain.end());
    recipe["tags"] = json::array(one->tags.begin(), one->tags.end());
    try {
        if (!failure) co_await finish(one, who, where, std::move(recipe));
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& refused) {
        failure = step_failed{"finalize", refused.what()};
    }
    if (!failure) co_return;
    co_await runs_.sandboxes().remove(std::move(who), where.id);
    throw step_failed(*failure);
}

awaitable<> templates::take_step(build_ptr one, caller who, sandbox_record where, surroundings& in, std::string type,
                                 json::object step)
{
    const auto arguments = texts_in(step, "args");
    const auto argument = [&](std::size_t at) { return at < arguments.size() ? arguments[at] : std::string(); };
    const auto user = (type == "RUN" && !argument(1).empty()) ? argument(1) : in.user;
    surroundings within = in;
    sandbox::run_request request;
    std::string failing = "failed to run step " + type;
    if (type == "RUN") {
        failing = "failed to run command '" + argument(0) + "'";
        request = request_of(where, within, user, argument(0));
    } else if (type == "COPY") {
        co_await copy_files(who, where, text_of(step, "filesHash"));
        const auto owner = argument(2).empty() ? in.user : argument(2);
        auto target = in.absolute(argument(1));
        request = runs_.base(where);
        request.argv = {"/bin/bash",
                        "-c",
                        std::string(template_copy),
                        "copy",
                        files_.home() + "/.template-files.tar",
                        argument(0),
                        target,
                        owner,
                        argument(3)};
        failing = "failed to copy '" + argument(0) + "'";
    } else if (type == "WORKDIR") {
        within.folder = "/";
        const auto folder = in.absolute(argument(0));
        request = runs_.base(where);
        request.argv = {"/bin/bash",
                        "-c",
                        "[ -d \"$1\" ] || { mkdir -p \"$1\" && { [ \"$(id -u)\" != 0 ] || chown \"$2:\" \"$1\"; }; }",
                        "workdir",
                        folder,
                        in.user};
    } else if (type == "USER") {
        within.folder = "/";
        request = request_of(where, within, argument(0), "true");
    } else if (type == "ENV") {
        co_return;
    } else {
        throw sandbox_error("InvalidArgument", "There is no step " + type.substr(0, 100) + ".");
    }
    const auto first_line = one->logs.size();
    const auto status = co_await run(one, "[builder] ", std::move(who), std::move(where), std::move(request));
    if (status == 0) co_return;
    std::string why = "exit status " + std::to_string(status);
    constexpr std::string_view refused = "command failed: ";
    for (auto at = first_line; at < one->logs.size(); ++at) {
        const auto line = text_of(one->logs[at].as_object(), "message");
        if (const auto found_at = line.find(refused); status == 126 && found_at != std::string::npos)
            why = line.substr(found_at);
    }
    throw sandbox_error("BuildError", failing + ": " + why);
}

awaitable<> templates::finish(build_ptr one, caller who, sandbox_record where, json::object recipe)
{
    co_await begin_programs(who, where, recipe);
    co_await runs_.sandboxes().end_processes(who, where.id);
    for (const auto& other : all_of(who)) {
        if (other.of.name != one->name) continue;
        auto less = tag_set(other.of);
        for (const auto& tag : one->tags) less.erase(tag);
        if (!less.empty()) set_tags(other, less);
        if (less.empty()) co_await runs_.sandboxes().remove(who, other.where.id);
    }
    terms of;
    of.of = where.id;
    of.name = one->name;
    of.started = sandbox_manager::now();
    of.recipe = std::move(recipe);
    runs_.sandboxes().store().set_terms(where.id, text_of_terms(of));
}

// Programs that start with a sandbox of the template

awaitable<> templates::run_for_life(sandbox::run_request request)
{
    class nobody final : public sandbox::output_receiver {
    public:
        awaitable<> receive(sandbox::stream, std::string_view) override { co_return; }
    } ignored;
    try {
        co_await cells_.run(std::move(request), ignored);
    } catch (const boost::system::system_error& ended) {
        if (ended.code() != asio::error::operation_aborted)
            log::warning("start_command_failed", {{"error", json::string(ended.what())}});
    }
}

awaitable<> templates::begin_programs(caller who, sandbox_record where, json::object recipe)
{
    surroundings in;
    in.variables = object_of(recipe, "variables");
    in.folder = text_of(recipe, "folder");
    const auto user = text_of(recipe, "user");
    if (const auto start = text_of(recipe, "start"); !start.empty()) {
        co_await runs_.sandboxes().admit_to_memory(where);
        auto request = request_of(where, in, user, start);
        request.limits.wall = life_of_programs;
        request.limits.output = std::numeric_limits<std::uint64_t>::max();
        request.label = "start";
        tasks_.spawn("start command", run_for_life(std::move(request)));
    }
    const auto ready = text_of(recipe, "ready");
    const auto until = std::chrono::steady_clock::now() + patience_with_readiness;
    int status = ready.empty() ? 0 : 1;
    while (status != 0) {
        auto request = request_of(where, in, user, ready);
        status = co_await run(nullptr, std::string(), who, where, std::move(request));
        if (status == 0) break;
        if (std::chrono::steady_clock::now() > until)
            throw sandbox_error("NotAvailable", "The ready command has failed for two minutes, with exit status " +
                                                    std::to_string(status) + ".");
        co_await pause_for(between_looks);
    }
}

awaitable<> templates::stop()
{
    tasks_.cancel_all();
    co_await tasks_.wait_idle(ending_limit_of_builds);
}

}  // namespace cmcp::e2b
