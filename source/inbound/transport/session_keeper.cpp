#include "transport/session_keeper.hpp"

#include "log/log.hpp"

#include <utility>

namespace cmcp {

namespace {

struct changes {
    std::vector<session_record> changed;
    std::vector<std::string> ended;
};

// Of many that change at once, some at a time: to describe them all would hold the loop.
changes changes_of(std::unordered_map<std::string, session_keeper::description>& pending)
{
    constexpr std::size_t most = 200;
    changes all;
    for (std::size_t i = 0; i < most && !pending.empty(); ++i) {
        const auto next = pending.extract(pending.begin());
        auto record = next.mapped() ? next.mapped()() : std::nullopt;
        if (record)
            all.changed.push_back(std::move(*record));
        else
            all.ended.push_back(next.key());
    }
    return all;
}

void complain(const std::string& reason)
{
    log::warning("sessions_not_kept", {{"reason", reason},
                                       {"advice",
                                        "clients of the older revisions must initialize again after the "
                                        "server has been started anew"}});
}

}  // namespace

session_keeper::session_keeper(asio::any_io_executor executor, const std::filesystem::path& file) : writer_(executor)
{
    if (file.empty()) return;
    try {
        records_ = std::make_shared<session_records>(file);
        read_ = records_->all();
        pool_ = std::make_unique<blocking_pool>(1);
    } catch (const database_error& failure) {
        complain(failure.what());
        records_ = nullptr;
    }
}

void session_keeper::changed(const std::string& digest, description describe)
{
    if (!records_) return;
    pending_[digest] = std::move(describe);
    if (!std::exchange(writing_, true)) writer_.spawn("records of sessions", write_all());
}

void session_keeper::ended(const std::string& digest) { changed(digest, nullptr); }

awaitable<> session_keeper::write_all()
{
    struct at_end {
        bool& writing;
        ~at_end() { writing = false; }
    } const tells{writing_};
    while (!pending_.empty()) {
        auto all = changes_of(pending_);
        auto work = [records = records_, all = std::move(all)] { records->write(all.changed, all.ended); };
        std::string failure;
        try {
            co_await pool_->run(blocking_pool::server, std::move(work));
        } catch (const database_error& problem) {
            failure = problem.what();
        }
        if (!failure.empty() && !std::exchange(complained_, true)) complain(failure);
    }
}

awaitable<bool> session_keeper::written(std::chrono::milliseconds limit)
{
    const bool done = co_await writer_.wait_idle(limit);
    co_return done;
}

}  // namespace cmcp
