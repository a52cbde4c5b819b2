#include "objects/object_store.hpp"

#include "config/cluster_settings.hpp"
#include "config/config_error.hpp"
#include "egress/egress_policy.hpp"
#include "log/log.hpp"
#include "objects/store_xml.hpp"
#include "text/encodings.hpp"
#include "text/random_id.hpp"
#include "text/utf8_text.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

namespace cmcp {

namespace {

using std::chrono::milliseconds;

constexpr unsigned ok = 200, missing = 404;
constexpr milliseconds longest_pause{5000};
constexpr std::size_t longest_shown = 300;
constexpr std::size_t most_bytes_of_page = 4u << 20;    // 1,000 keys of 1,024 bytes, each byte as three, and more
constexpr std::size_t most_bytes_of_keys = 256u << 20;  // of all pages of a list
constexpr std::size_t most_empty_pages = 100;           // one after another
constexpr std::size_t bytes_a_turn = 16 * 1024;

web_url url_of(const store_address& to)
{
    const std::string port = to.port == 0 ? "" : ":" + std::to_string(to.port);
    return web_url::parse((to.secure ? "https://" : "http://") + to.host + port);
}

// The one host, though its address may be a private one.
std::shared_ptr<const egress_policy> policy_for(const web_url& base)
{
    const std::string address = base.who.text() + ":" + std::to_string(base.port);
    return std::make_shared<egress_policy>(std::vector<egress_entry>{egress_entry::parse(address)},
                                           std::vector<egress_entry>{egress_entry::parse(address)});
}

bool passes(unsigned status)
{
    return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

bool passes(const fetch_error& failure)
{
    constexpr std::array<std::string_view, 4> reasons{"unreachable", "timeout", "bad_answer", "busy"};
    return std::find(reasons.begin(), reasons.end(), failure.reason) != reasons.end();
}

std::string_view advice_for(const std::string& reason)
{
    if (reason == "tls") return "Set SNAPSHOT_STORE_CA to the authority of its certificate where the system lacks it.";
    if (reason == "bad_redirect" || reason == "too_many_redirects") return store_advice("PermanentRedirect", 0);
    if (reason == "too_large") return "Objects here have at most 16 MiB: another program wrote it.";
    return "Check the host and the port of SNAPSHOT_STORE, and whether the storage runs.";
}

std::string without(std::string text, const std::string& secret)
{
    for (auto at = text.find(secret); !secret.empty() && at != std::string::npos; at = text.find(secret, at))
        text.replace(at, secret.size(), "***");
    return text;
}

struct advice_row {
    std::string_view code, advice;
};

constexpr std::string_view for_rights =
    "Set SNAPSHOT_STORE_KEY_ID and SNAPSHOT_STORE_SECRET to an access key that may read, write, list and delete "
    "objects "
    "of this bucket.";
constexpr std::string_view for_region =
    "The bucket is in another region or at another host: set SNAPSHOT_STORE_REGION and the host of SNAPSHOT_STORE to "
    "its own.";
constexpr std::string_view for_room = "Make room in the storage.";
constexpr std::string_view for_later = "The storage is overloaded or ailing: try again later, and look into its log.";
constexpr std::string_view for_conditions =
    "The storage knows no conditional writes (If-None-Match), which snapshots need: take one that does.";

// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html and those of MinIO.
constexpr std::array<advice_row, 15> by_code{{
    {"SignatureDoesNotMatch",
     "SNAPSHOT_STORE_SECRET is not the secret of SNAPSHOT_STORE_KEY_ID: set both to those of one access key."},
    {"InvalidAccessKeyId",
     "The storage does not know SNAPSHOT_STORE_KEY_ID: set it and SNAPSHOT_STORE_SECRET to an access key of this "
     "storage."},
    {"RequestTimeTooSkewed",
     "The clocks of this machine and of the storage differ too much: set them right, at best by NTP."},
    {"RequestExpired",
     "The clocks of this machine and of the storage differ too much: set them right, at best by NTP."},
    {"NoSuchBucket", "Create the bucket that SNAPSHOT_STORE names, or correct its name."},
    {"AccessDenied", for_rights},
    {"AllAccessDisabled", for_rights},
    {"AuthorizationHeaderMalformed", for_region},
    {"PermanentRedirect", for_region},
    {"IllegalLocationConstraintException", for_region},
    {"QuotaExceeded", for_room},
    {"XMinioAdminBucketQuotaExceeded", for_room},
    {"XMinioStorageFull", for_room},
    {"NotImplemented", for_conditions},
    {"EntityTooLarge", "Let the storage accept objects of 16 MiB."},
}};

}  // namespace

/// A request, of which each attempt is signed anew.
struct object_store::order {
    std::string wish{};  ///< behind "did not": `store "key"`
    std::string method = "GET";
    std::string path{};
    name_values query{};
    name_values headers{};
    std::string bytes{};
    std::string digest = sha256_hex({});
    std::size_t most = most_bytes;  ///< of the answer
};

/// The last answer, or why there is none.
struct object_store::answer {
    fetch_reply reply;
    std::string failure{}, reason{};  ///< of a fetch_error
    bool may_pass = false;
    unsigned attempts = 1;
};

object_store_options object_store_options::of(const cluster_settings& config)
{
    const auto to = store_address::read(config.snapshot_store);
    if (!to) throw config_error("SNAPSHOT_STORE is not set");
    object_store_options options;
    options.to = *to;
    options.region = config.snapshot_store_region;
    options.by = {config.snapshot_store_key_id, config.snapshot_store_secret};
    options.ca = config.snapshot_store_ca;
    return options;
}

object_store::object_store(asio::any_io_executor executor, object_store_options options)
try : options_(std::move(options)), base_(url_of(options_.to)),
    text_(base_.origin() + "/" + options_.to.bucket + (options_.to.prefix.empty() ? "" : "/" + options_.to.prefix)),
    policy_(policy_for(base_)), executor_(executor), client_(executor, options_.ca, "SNAPSHOT_STORE_CA") {
} catch (const bad_url& problem) {
    throw config_error(std::string("SNAPSHOT_STORE: ") + problem.what());
}

std::shared_ptr<object_store::order> object_store::order_for(std::string method, const std::string& wish,
                                                             const std::string& key) const
{
    if (key.empty()) throw std::invalid_argument("the key of an object is empty");
    auto wanted = std::make_shared<order>();
    wanted->wish = wish + " \"" + key + "\"";
    wanted->method = std::move(method);
    wanted->path = aws_encoded_path("/" + options_.to.bucket + "/" + options_.to.prefix + key);
    return wanted;
}

fetch_request object_store::signed_request(const order& wanted) const
{
    aws_request to_sign{.method = wanted.method,
                        .path = wanted.path,
                        .query = wanted.query,
                        .headers = wanted.headers,
                        .payload_hash = wanted.digest};
    to_sign.headers.emplace_back("Host", base_.authority());
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    fetch_request request;
    request.headers = aws_signature(to_sign, options_.by, options_.region, now);
    request.headers.insert(request.headers.end(), wanted.headers.begin(), wanted.headers.end());
    request.url = base_;
    request.url.target = wanted.path + (wanted.query.empty() ? "" : "?" + aws_query(wanted.query));
    request.method = wanted.method;
    request.body = wanted.bytes;
    request.max_bytes = wanted.most;
    request.max_redirects = 0;
    request.timeout = options_.request_timeout;
    request.timeout_setting = "the time for a request to the storage";
    return request;
}

awaitable<object_store::answer> object_store::try_once(std::shared_ptr<const order> wanted)
{
    answer got;
    try {
        auto ticket = std::make_shared<egress_ticket>("object storage", policy_, egress_limits{});
        auto request = signed_request(*wanted);
        got.reply = co_await client_.get(std::move(ticket), std::move(request));
        got.may_pass = passes(got.reply.status);
    } catch (const fetch_error& failure) {
        got.failure = failure.what();
        got.reason = failure.reason;
        got.may_pass = passes(failure);
    }
    co_return got;
}

awaitable<> object_store::pause(milliseconds longest)
{
    std::array<unsigned char, 2> bytes{};
    fill_random(bytes);  // servers that failed together do not come back together
    const auto share = (bytes[0] << 8 | bytes[1]) % 1000;
    asio::steady_timer timer(executor_, longest / 2 + longest / 2 * share / 1000);
    co_await timer.async_wait(asio::use_awaitable);
}

awaitable<object_store::answer> object_store::ask(std::shared_ptr<const order> wanted)
{
    const auto end = std::chrono::steady_clock::now() + options_.patience;
    milliseconds next = options_.first_pause;
    for (unsigned attempts = 1;; ++attempts) {
        auto got = co_await try_once(wanted);
        got.attempts = attempts;
        if (!got.may_pass) {
            if (!got.failure.empty()) fail(*wanted, got);
            co_return got;
        }
        if (std::chrono::steady_clock::now() + next > end) fail(*wanted, got);
        log::warning("object_storage_again", {{"method", json::string(wanted->method)},
                                              {"status", got.reply.status},
                                              {"reason", json::string(got.reason)},
                                              {"attempt", attempts}});
        co_await pause(next);
        next = std::min(2 * next, longest_pause);
    }
}

// A storage might say in its message what it was sent.
std::string object_store::shown(std::string text) const
{
    text = without(std::move(text), options_.by.secret);
    text = escape_invalid_utf8(without(std::move(text), options_.by.session_token));
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    return std::string(utf8_prefix(text, longest_shown));
}

void object_store::fail(const order& wanted, const answer& got) const
{
    const std::string beginning = "The object storage " + text_ + " did not " + wanted.wish + ": ";
    const std::string tries = got.attempts == 1 ? "" : " The attempts were " + std::to_string(got.attempts) + ".";
    if (!got.failure.empty())
        throw object_store_error(beginning + got.failure + tries + " " + std::string(advice_for(got.reason)), {}, 0);
    const auto refusal = read_refusal(got.reply.body);
    std::string said = std::to_string(got.reply.status) + " " +
                       (refusal.code.empty() ? shown(got.reply.status_text) : shown(refusal.code));
    if (!refusal.message.empty()) said += " (" + shown(refusal.message) + ")";
    throw object_store_error(beginning + "it answered " + said + "." + tries + " " +
                                 std::string(store_advice(refusal.code, got.reply.status)),
                             refusal.code, got.reply.status);
}

void object_store::give(order& to, std::string bytes) const
{
    if (bytes.size() > most_bytes)
        throw object_store_error("The object storage " + text_ + " did not " + to.wish + ": it has " +
                                     std::to_string(bytes.size()) + " bytes, and objects have at most 16 MiB here.",
                                 "EntityTooLarge", 0);
    to.digest = sha256_hex(bytes);
    to.bytes = std::move(bytes);
}

awaitable<std::string> object_store::put(std::string key, std::string bytes)
{
    const auto wanted = order_for("PUT", "store", key);
    give(*wanted, std::move(bytes));
    auto got = co_await ask(wanted);
    if (got.reply.status / 100 != 2) fail(*wanted, got);
    co_return plain_etag(got.reply.etag);
}

awaitable<std::optional<std::string>> object_store::get(std::string key)
{
    const auto wanted = order_for("GET", "give", key);
    auto got = co_await ask(wanted);
    if (got.reply.status == missing && read_refusal(got.reply.body).code != "NoSuchBucket") co_return std::nullopt;
    if (got.reply.status != ok) fail(*wanted, got);
    co_return std::move(got.reply.body);
}

awaitable<> object_store::remove(std::string key)
{
    const auto wanted = order_for("DELETE", "remove", key);
    auto got = co_await ask(wanted);
    const bool is_gone = got.reply.status == missing && read_refusal(got.reply.body).code != "NoSuchBucket";
    if (got.reply.status / 100 != 2 && !is_gone) fail(*wanted, got);
}

awaitable<std::vector<std::string>> object_store::list(std::string prefix)
{
    auto all = co_await list_objects(std::move(prefix));
    std::vector<std::string> keys;
    for (auto& each : all) keys.push_back(std::move(each.key));
    co_return keys;
}

awaitable<std::vector<listed_object>> object_store::list_objects(std::string prefix)
{
    std::vector<listed_object> all;
    std::string token;
    std::set<std::string> tokens;
    std::size_t bytes = 0, empty_pages = 0;
    do {
        const auto wanted = page_order(prefix, token);
        auto got = co_await ask(wanted);
        if (got.reply.status != ok) fail(*wanted, got);
        auto page = co_await listing_of(wanted, std::move(got.reply.body));
        if (!page.next.empty() && !tokens.insert(page.next).second) fail_listing(*wanted, "it repeats a page");
        empty_pages = page.objects.empty() ? empty_pages + 1 : 0;
        if (empty_pages > most_empty_pages) fail_listing(*wanted, "it goes on without keys");
        for (const auto& each : page.objects) bytes += each.key.size();
        if (bytes > most_bytes_of_keys) fail_listing(*wanted, "it never ends");
        for (auto& each : page.objects)
            if (each.key.starts_with(options_.to.prefix))
                all.push_back({each.key.substr(options_.to.prefix.size()), std::move(each.etag)});
        token = page.next;
    } while (!token.empty());
    co_return all;
}

std::shared_ptr<object_store::order> object_store::page_order(const std::string& prefix, const std::string& token) const
{
    auto wanted = std::make_shared<order>();
    wanted->wish = "list \"" + prefix + "\"";
    wanted->most = most_bytes_of_page;
    wanted->path = aws_encoded_path("/" + options_.to.bucket);
    wanted->query = {{"list-type", "2"}, {"max-keys", std::to_string(options_.page_size)}};
    if (const auto whole = options_.to.prefix + prefix; !whole.empty()) wanted->query.emplace_back("prefix", whole);
    if (!token.empty()) wanted->query.emplace_back("continuation-token", token);
    return wanted;
}

// A page may have megabytes, and others have their turn in between.
awaitable<store_listing> object_store::listing_of(std::shared_ptr<const order> wanted, std::string body) const
{
    std::string problem;
    store_listing page;
    try {
        listing_reader reader;
        for (std::string_view rest = body; !rest.empty();) {
            const auto piece = rest.substr(0, bytes_a_turn);
            reader.take(piece);
            rest.remove_prefix(piece.size());
            if (!rest.empty()) co_await asio::post(executor_, asio::use_awaitable);
        }
        page = reader.finish();
    } catch (const bad_xml& wrong) {
        problem = wrong.what();
    }
    if (!problem.empty()) fail_listing(*wanted, problem);
    co_return page;
}

void object_store::fail_listing(const order& wanted, const std::string& problem) const
{
    throw object_store_error("The object storage " + text_ + " did not " + wanted.wish +
                                 ": it answered no list, because " + problem + ". " + std::string(store_advice({}, ok)),
                             {}, ok);
}

std::string_view store_advice(std::string_view code, unsigned status)
{
    for (const auto& row : by_code)
        if (row.code == code) return row.advice;
    if (status == 401 || status == 403) return for_rights;
    if (status / 100 == 3) return for_region;
    if (status == 404) return "Correct the bucket or the host of SNAPSHOT_STORE.";
    if (status == 501) return for_conditions;
    if (status == 507) return for_room;
    if (status == 429 || status >= 500) return for_later;
    return "Look into the log of the storage, and whether SNAPSHOT_STORE names one that is S3-compatible.";
}

}  // namespace cmcp
