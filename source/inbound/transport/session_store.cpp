#include "transport/session_store.hpp"

#include "config/http_settings.hpp"
#include "config/networks.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "log/request_id.hpp"
#include "mcp/server_core.hpp"
#include "text/encodings.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::seconds evictable_after(60);

// Behind a reverse proxy all callers have one address, so it says something only where no principal is known.
std::string holder_of(const std::string& principal, const std::string& address)
{
    return principal.empty() ? "address " + counted_address(address) : "principal " + principal;
}

// Long enough for a client to come back; then an idle session costs next to nothing.
constexpr std::chrono::minutes events_kept(10);

// Of what is over at one moment, in one step of the loop.
constexpr std::size_t most_swept = 100;
constexpr std::size_t most_events_swept = 50;

// How many of the longest unused sessions are looked at for one that may be dropped.
constexpr int most_looked_at = 64;

// A client that says more of itself than that is not taken up again after a restart.
constexpr std::size_t longest_state = 64 * 1024;

// The streams of each process have numbers of their own, so an event id of a former one names none of this.
constexpr unsigned bits_of_streams = 32;

double seconds_since_1970(std::chrono::system_clock::time_point when)
{
    return std::chrono::duration<double>(when.time_since_epoch()).count();
}

std::chrono::system_clock::time_point time_of(double seconds)
{
    using std::chrono::system_clock;
    return system_clock::time_point(
        std::chrono::duration_cast<system_clock::duration>(std::chrono::duration<double>(seconds)));
}

std::optional<session_record> record_of(const std::weak_ptr<http_session>& kept)
{
    const auto session = kept.lock();
    if (!session || !session->state->initialized) return std::nullopt;
    auto state = jsonrpc::write_json(server_core::state_of(*session->state));
    if (state.size() > longest_state) return std::nullopt;
    using std::chrono::steady_clock;
    const auto unused = session->busy() ? steady_clock::duration::zero() : steady_clock::now() - session->last_used;
    const auto& who = session->state->who;
    return session_record{
        sha256_hex(session->id),
        who.principal,
        session->address,
        who.profile,
        std::move(state),
        seconds_since_1970(session->started),
        seconds_since_1970(std::chrono::system_clock::now()) - std::chrono::duration<double>(unused).count(),
        session->starts};
}

}  // namespace

void http_session::cancel() { store.drop(shared_from_this()); }

std::shared_ptr<event_stream> http_session::open_stream(asio::any_io_executor executor)
{
    forget_ended_streams();
    event_stream::options options{.number = next_stream++,
                                  .log = log,
                                  .memory = memory,
                                  .pollable = state->who.protocol >= revision::v2025_11_25};
    auto stream = std::make_shared<event_stream>(std::move(executor), std::move(options));
    streams.push_back(stream);
    return stream;
}

void http_session::forget_ended_streams()
{
    std::erase_if(streams, [](const auto& each) { return each.expired(); });
}

std::shared_ptr<event_stream> http_session::find_stream(asio::any_io_executor executor, const event_id& last)
{
    // Of what a former process sent there, no more is known.
    if (last.stream == 0) return last.sequence <= general->last_sequence() || starts != 0 ? general : nullptr;
    for (const auto& each : streams)
        if (auto open = each.lock(); open && open->number() == last.stream)
            return last.sequence <= open->last_sequence() ? open : nullptr;
    // An empty stream would be taken for a lost connection, and asked for for ever.
    if (!log || log->after(last).empty()) return nullptr;
    event_stream::options options{.number = last.stream, .log = log};
    auto past = std::make_shared<event_stream>(std::move(executor), std::move(options));
    past->close();
    return past;
}

session_store::session_store(asio::any_io_executor executor, const http_settings& config,
                             std::shared_ptr<memory_budget> budget, limit_of_principal of_principal,
                             handle_maker handles, const std::filesystem::path& file)
    : executor_(std::move(executor)),
      config_(config),
      budget_(std::move(budget)),
      of_principal_(std::move(of_principal)),
      handles_(std::move(handles)),
      keeper_(executor_, file)
{
    read_absent();
}

session_store::~session_store() = default;

std::size_t session_store::most_sessions(std::string_view principal) const
{
    return principal.empty() || !of_principal_ ? config_.max_sessions_per_address : of_principal_(principal);
}

std::shared_ptr<http_session> session_store::create(std::string principal, std::string address, bool sse, refusal& why)
{
    auto now = clock::now();
    auto holder = holder_of(principal, address);
    const bool named = !principal.empty();
    why = named ? refusal::too_many_of_caller : refusal::too_many_from_address;
    if (sessions_of(holder).size() >= most_sessions(principal) && !make_room(sessions_of(holder), now)) return nullptr;
    why = refusal::too_many;
    if (by_id_.size() >= config_.max_sessions && !make_room(sessions_of(holder), now) && !make_room(by_use_, now))
        return nullptr;
    why = refusal::none;
    make_room_among_absent(holder, most_sessions(principal));
    return add(handles_.make("ses"), std::move(principal), std::move(address), sse);
}

std::shared_ptr<http_session> session_store::add(std::string id, std::string principal, std::string address, bool sse)
{
    auto holder = holder_of(principal, address);
    auto opened = std::make_shared<http_session>(*this);
    opened->id = std::move(id);
    opened->sse = sse;
    opened->address = address;
    opened->memory = budget_->of(principal);
    opened->state = std::make_shared<session>();
    opened->state->who.principal = std::move(principal);
    opened->state->who.session = opened->id;
    opened->state->who.session_ends = true;
    opened->state->who.session_tag = log::next_id('s');
    if (!sse) opened->log = std::make_shared<event_log>(config_.event_log_bytes, opened->memory);
    opened->general = std::make_shared<event_stream>(
        executor_, event_stream::options{.number = 0, .log = opened->log, .memory = opened->memory});
    opened->state->general = opened->general;
    opened->last_used = opened->use_kept = clock::now();
    if (!sse)
        opened->state->on_change = [this, weak = std::weak_ptr(opened)] {
            if (const auto changed = weak.lock()) keep(*changed);
        };
    opened->place = by_use_.insert(by_use_.end(), opened.get());
    auto& own = by_holder_[holder];
    opened->own_place = own.insert(own.end(), opened.get());
    opened->holder = std::move(holder);
    by_id_.emplace(opened->id, opened);
    return opened;
}

const session_store::by_use& session_store::sessions_of(const std::string& holder) const
{
    static const by_use none;
    const auto own = by_holder_.find(holder);
    return own == by_holder_.end() ? none : own->second;
}

bool session_store::make_room(const by_use& among, clock::time_point now)
{
    int looked_at = 0;
    for (auto* each : among) {
        if (++looked_at > most_looked_at || now - each->last_used < evictable_after) return false;
        if (each->busy()) continue;
        drop(by_id_.at(each->id));
        return true;
    }
    return false;
}

std::shared_ptr<http_session> session_store::find(std::string_view id, std::string_view principal)
{
    auto known = by_id_.find(id);
    auto session = known == by_id_.end() ? take_up(id, principal) : known->second;
    if (!session || session->state->who.principal != principal) return nullptr;
    touch(*session);
    ++session->requests;
    return session;
}

// Forgets those that have expired meanwhile, or are too many for today's settings.
void session_store::read_absent()
{
    for (auto& each : keeper_.take_read()) {
        const auto holder = holder_of(each.principal, each.address);
        const auto digest = each.digest;
        absent_by_use_.push_back(digest);
        absent_of_holder_[holder].push_back(digest);
        absent_.emplace(digest, std::move(each));
        const auto principal = absent_.at(digest).principal;
        make_room_among_absent(holder, most_sessions(principal) + 1);
    }
    forget_expired_absent();
}

void session_store::forget_absent(const std::string& digest)
{
    const auto known = absent_.find(digest);
    if (known == absent_.end()) return;
    const auto own = absent_of_holder_.find(holder_of(known->second.principal, known->second.address));
    if (own != absent_of_holder_.end()) {
        std::erase(own->second, digest);
        if (own->second.empty()) absent_of_holder_.erase(own);
    }
    absent_.erase(known);
}

void session_store::forget_expired_absent()
{
    const auto earliest = seconds_since_1970(std::chrono::system_clock::now() - config_.session_timeout);
    while (!absent_by_use_.empty()) {
        const auto digest = absent_by_use_.front();
        const auto known = absent_.find(digest);
        if (known != absent_.end() && known->second.last_used > earliest) return;
        absent_by_use_.pop_front();
        if (known == absent_.end()) continue;
        forget_absent(digest);
        keeper_.ended(digest);
    }
}

// Called before one more session: those that nobody came back for give way to it, the caller's own first.
void session_store::make_room_among_absent(const std::string& holder, std::size_t most)
{
    const auto drop_first = [this](const std::string digest) {
        forget_absent(digest);
        keeper_.ended(digest);
    };
    for (auto own = absent_of_holder_.find(holder);
         own != absent_of_holder_.end() && sessions_of(holder).size() + own->second.size() >= most;
         own = absent_of_holder_.find(holder))
        drop_first(own->second.front());
    while (!absent_by_use_.empty() && by_id_.size() + absent_.size() >= config_.max_sessions) {
        const auto digest = absent_by_use_.front();
        absent_by_use_.pop_front();
        if (absent_.contains(digest)) drop_first(digest);
    }
}

std::shared_ptr<http_session> session_store::take_up(std::string_view id, std::string_view principal)
{
    forget_expired_absent();
    if (absent_.empty()) return nullptr;
    const auto known = absent_.find(sha256_hex(id));
    if (known == absent_.end() || known->second.principal != principal) return nullptr;
    const auto record = known->second;
    forget_absent(record.digest);
    auto back = add(std::string(id), record.principal, record.address, false);
    back->state->who.profile = record.profile;
    back->started = time_of(record.created);
    back->starts = record.starts + 1;
    back->next_stream = (back->starts << bits_of_streams) + 1;
    back->returned = true;
    try {
        take_up_(back->state, jsonrpc::read_object(record.state));
    } catch (const std::exception& failure) {
        log::warning("session_not_taken_up", {{"reason", failure.what()}});
        drop(back);
        return nullptr;
    }
    keep(*back);
    return back;
}

void session_store::keep(const http_session& changed)
{
    keeper_.changed(sha256_hex(changed.id), [kept = std::const_pointer_cast<http_session>(changed.shared_from_this())] {
        return record_of(kept);
    });
}

// A file that is written with each request would cost more than the requests.
bool session_store::keep_uses(clock::time_point now, clock::duration older_than, std::size_t most)
{
    for (auto* each : by_use_) {
        if (each->sse || !each->state->initialized) continue;
        const bool used = each->busy() || each->last_used > each->use_kept;
        if (!used || now - each->use_kept < older_than) continue;
        if (most-- == 0) return false;
        each->use_kept = now;
        keep(*each);
    }
    return true;
}

awaitable<> session_store::keep_all(std::chrono::milliseconds limit)
{
    keep_uses(clock::now(), clock::duration::zero(), by_use_.size());
    const bool done = co_await keeper_.written(limit);
    if (!done) log::warning("sessions_not_kept", {{"reason", "the file of sessions could not be written in time"}});
}

std::vector<std::shared_ptr<http_session>> session_store::all() const
{
    std::vector<std::shared_ptr<http_session>> sessions;
    for (auto* each : by_use_) sessions.push_back(each->shared_from_this());
    return sessions;
}

void session_store::touch(http_session& used)
{
    used.last_used = clock::now();
    used.state->last_used = used.last_used;
    by_use_.splice(by_use_.end(), by_use_, used.place);
    auto& own = by_holder_.at(used.holder);
    own.splice(own.end(), own, used.own_place);
}

void session_store::drop(std::shared_ptr<http_session> gone)
{
    if (by_id_.erase(gone->id) == 0) return;
    by_use_.erase(gone->place);
    auto own = by_holder_.find(gone->holder);
    own->second.erase(gone->own_place);
    if (own->second.empty()) by_holder_.erase(own);
    gone->state->on_change = nullptr;
    if (!gone->sse) keeper_.ended(sha256_hex(gone->id));
    gone->state->cancel_all();
    gone->general->close();
    if (dropped_) dropped_(gone->state->who);
}

bool session_store::sweep(clock::time_point now)
{
    std::vector<std::shared_ptr<http_session>> over;
    bool more = false;
    for (auto* each : by_use_) {
        if (now - each->last_used < config_.session_timeout) break;  // they stand in the order of their use
        if (each->busy()) continue;
        more = over.size() == most_swept;
        if (more) break;
        over.push_back(by_id_.at(each->id));
    }
    for (const auto& each : over) drop(each);
    std::size_t events = most_events_swept;
    for (auto* each : by_use_)
        if (each->log && events != 0) events -= each->log->forget_before(now - events_kept, events);
    forget_expired_absent();
    const bool kept_all = keep_uses(now, config_.session_timeout / 8);
    return more || events == 0 || !kept_all;
}

awaitable<> session_store::end_streams()
{
    constexpr std::size_t most_in_a_turn = 1000;
    std::vector<std::shared_ptr<event_stream>> streams;
    streams.reserve(by_id_.size());
    for (const auto& each : by_id_) streams.push_back(each.second->general);
    std::size_t ended = 0;
    for (const auto& each : streams) {
        each->close();
        if (++ended % most_in_a_turn == 0) co_await asio::post(asio::use_awaitable);
    }
}

}  // namespace cmcp
