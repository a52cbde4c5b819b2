#include "transport/session_store.hpp"

#include "log/request_id.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::seconds evictable_after(60);

// Behind a reverse proxy all callers have one address, so it says something only where no principal is known.
std::string holder_of(const std::string& principal, const std::string& address)
{
    return principal.empty() ? "address " + address : "principal " + principal;
}

// Long enough for a client to come back; then an idle session costs next to nothing.
constexpr std::chrono::minutes events_kept(10);

// How many of the longest unused sessions are looked at for one that may be dropped.
constexpr int most_looked_at = 64;

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

std::shared_ptr<event_stream> http_session::find_stream(asio::any_io_executor executor, std::uint32_t number)
{
    if (number == 0) return general;
    if (number >= next_stream) return nullptr;
    for (const auto& each : streams)
        if (auto open = each.lock(); open && open->number() == number) return open;
    // Over, but what the log still holds of it can be had.
    auto past =
        std::make_shared<event_stream>(std::move(executor), event_stream::options{.number = number, .log = log});
    past->close();
    return past;
}

session_store::session_store(asio::any_io_executor executor, const settings& config,
                             std::shared_ptr<memory_budget> budget, limit_of_principal of_principal,
                             handle_maker handles)
    : executor_(std::move(executor)),
      config_(config),
      budget_(std::move(budget)),
      of_principal_(std::move(of_principal)),
      handles_(std::move(handles))
{
}

session_store::~session_store() = default;

std::size_t session_store::most_sessions(std::string_view principal) const
{
    if (principal.empty()) return config_.max_sessions_per_address;
    return of_principal_ ? of_principal_(principal) : config_.max_sessions_per_caller;
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

    auto opened = std::make_shared<http_session>(*this);
    opened->id = handles_.make("ses");
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
    opened->last_used = now;
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
    if (known == by_id_.end() || known->second->state->who.principal != principal) return nullptr;
    touch(*known->second);
    ++known->second->requests;
    return known->second;
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
    gone->state->cancel_all();
    gone->general->close();
    if (dropped_) dropped_(gone->state->who);
}

void session_store::sweep(clock::time_point now)
{
    std::vector<std::shared_ptr<http_session>> over;
    for (auto* each : by_use_) {
        if (each->log) each->log->forget_before(now - events_kept);
        if (now - each->last_used < config_.session_timeout || each->busy()) continue;
        over.push_back(by_id_.at(each->id));
    }
    for (const auto& each : over) drop(each);
}

void session_store::end_streams()
{
    for (const auto& each : by_id_) each.second->general->close();
}

}  // namespace cmcp
