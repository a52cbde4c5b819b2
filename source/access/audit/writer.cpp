#include "audit/writer.hpp"

#include "audit/record_text.hpp"
#include "posix/bytes.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include <fcntl.h>

namespace cmcp::audit {

namespace {

using steady = collector::clock;

constexpr std::chrono::milliseconds between_tries(250);
constexpr std::size_t most_latest = 512 * 1024;

}  // namespace

writer::writer(writer_options how) : how_(std::move(how)), journal_(how_.journal), collected_(how_.memory, how_.shares)
{
    log::info("audit", {{"folder", how_.journal.folder.string()},
                        {"key", journal_.key()},
                        {"records", journal_.last().number},
                        {"new", journal_.is_new() ? std::optional(true) : std::nullopt}});
    share();
}

writer::~writer()
{
    try {
        stop();
    } catch (const std::exception&) {
        std::abort();  // without memory for a last record; the next start says that there was no end in good order
    }
}

void writer::start(std::function<void()> first)
{
    thread_ = std::thread([this, first = std::move(first)] {
        if (first) first();
        work();
    });
}

void writer::stop()
{
    if (!thread_.joinable()) return;
    collected_.settle();
    add(kind::stop, {}, nullptr);
    collected_.stop();
    thread_.join();
}

void writer::add(kind is, log::fields with, const json::object* arguments, std::string_view digest)
{
    if (!how_.arguments) return collected_.add(is, with, nullptr);
    collected_.add(is, with, arguments, digest);
}

std::string writer::refusal()
{
    if (!how_.required) return {};
    const bool troubled = troubled_.load(std::memory_order_relaxed);
    if (!troubled && !collected_.is_full()) return {};
    ++refused_;
    std::string why = "its disk is too slow";
    if (troubled) why = now().trouble;
    return "No calls are taken, because they could not be recorded (AUDIT_REQUIRED): " + why +
           ". Try again later, or tell the server's owner.";
}

writer_state writer::now() const
{
    const std::lock_guard only(mutex_);
    return state_;
}

std::string writer::latest() const
{
    const std::lock_guard only(mutex_);
    return before_ + latest_;
}

void writer::work()
{
    seal_due_ = publish_due_ = steady::now();
    while (collected_.wait(next_turn())) {
        turn();
        const auto pause = journal_.trouble().empty() ? how_.write_every : between_tries;
        if (!collected_.rest(steady::now() + pause)) break;
    }
    seal_due_ = publish_due_ = steady::now();
    turn();
    if (journal_.has_unwritten() || !journal_.is_sealed())
        log::error("audit_ends_unwritten", {{"reason", journal_.trouble()}});
}

steady::time_point writer::next_turn() const
{
    if (!journal_.trouble().empty()) return steady::now() + between_tries;
    if (!journal_.is_sealed()) return seal_due_;
    return published_ == journal_.sealed() ? steady::time_point::max() : publish_due_;
}

void writer::turn()
{
    take_records();
    journal_.write();
    note_losses();
    if (steady::now() >= seal_due_ && !journal_.is_sealed()) seal();
    if (steady::now() >= publish_due_ && !(published_ == journal_.sealed())) publish();
    report_trouble();
    share();
}

// While something cannot be written, the records stay where their memory is bounded.
void writer::take_records()
{
    if (journal_.has_unwritten()) return;
    collected_.take(batch_);
    std::string_view rest = batch_.text;
    const auto next = [&rest](std::size_t size) {
        const auto text = rest.substr(0, size);
        rest.remove_prefix(size);
        return text;
    };
    for (const auto& each : batch_.entries) {
        record of{each.at, each.is, next(each.fields), next(each.arguments)};
        if (!each.is_digest && !of.arguments.empty()) of.arguments = digests_.of({of.arguments});
        journal_.add(of);
    }
    lost_ += batch_.dropped;
    const auto lines = journal_.unwritten();
    if (lines.empty()) return;
    const std::lock_guard only(mutex_);
    if (latest_.size() > most_latest) {
        std::swap(before_, latest_);
        latest_.clear();
    }
    latest_.append(lines);
}

// Once records are written again.
void writer::note_losses()
{
    if (!journal_.trouble().empty()) return;
    const auto refused = refused_.exchange(0);
    if (lost_ == 0 && refused == 0) return;
    const std::chrono::duration<double> lasted = steady::now() - trouble_began_;
    std::string fields;
    append_fields(fields,
                  {{"records", lost_},
                   {"refused_calls", refused},
                   {"reason", log::unless_empty(reported_trouble_)},
                   {"seconds", reported_trouble_.empty() ? std::nullopt
                                                         : std::optional(static_cast<std::int64_t>(lasted.count()))}});
    journal_.add({std::chrono::system_clock::now(), kind::dropped, fields, {}});
    {
        const std::lock_guard only(mutex_);
        state_.dropped += std::exchange(lost_, 0);
    }
    journal_.write();
}

void writer::seal()
{
    seal_due_ = steady::now() + how_.seal_every;
    const auto before = journal_.file();
    if (!journal_.seal()) return;
    if (before != journal_.file()) publish_due_ = steady::now();
    const std::lock_guard only(mutex_);
    state_.sealed_at = seconds_since_1970();
}

// The log may go to another machine, and so may the file. Who owns this one later cannot take back what they tell.
void writer::publish()
{
    publish_due_ = steady::now() + how_.publish_every;
    published_ = journal_.sealed();
    if (published_.number == 0) return;
    const auto head = published_.text();
    log::info("audit_head", {{"head", head}, {"key", journal_.key()}});
    if (how_.heads.empty()) return;
    std::string line;
    append_time(line, std::chrono::system_clock::now());
    line.append(" head=").append(head).append(" key=").append(journal_.key()).append("\n");
    const unique_fd file(
        ::open(how_.heads.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
    const std::string problem = file && write_all(file.get(), line) ? "" : std::strerror(errno);
    if (!problem.empty() && problem != reported_heads_)
        log::error("audit_head_not_published", {{"file", how_.heads.string()}, {"reason", problem}});
    reported_heads_ = problem;
}

void writer::report_trouble()
{
    const auto& trouble = journal_.trouble();
    if (!trouble.empty() && reported_trouble_.empty()) {
        trouble_began_ = steady::now();
        log::error("audit_not_written", {{"reason", trouble}});
    }
    if (trouble.empty() && !reported_trouble_.empty()) log::info("audit_written_again");
    reported_trouble_ = trouble;
    if (!journal_.damage().empty() && journal_.damage() != reported_damage_)
        log::error("audit_damaged", {{"what", journal_.damage()}});
    reported_damage_ = journal_.damage();
}

void writer::share()
{
    troubled_ = !journal_.trouble().empty();
    const std::lock_guard only(mutex_);
    state_.folder = how_.journal.folder.string();
    state_.file = journal_.file().string();
    state_.key = journal_.key();
    state_.last = journal_.last();
    state_.sealed = journal_.sealed();
    state_.trouble = journal_.trouble();
    state_.damage = journal_.damage();
}

}  // namespace cmcp::audit
