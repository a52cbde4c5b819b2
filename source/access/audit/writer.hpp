#pragma once

#include "audit/collector.hpp"
#include "audit/journal.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace cmcp::audit {

struct writer_options {
    journal_options journal;
    bool required = false;        ///< calls are refused while records cannot be written
    bool arguments = true;        ///< their digests are written
    std::filesystem::path heads;  ///< file to which heads are published, beside the log; empty: none
    std::chrono::milliseconds publish_every{60'000};
    std::chrono::milliseconds seal_every{1000};  ///< and take care that records are on the disk
    std::chrono::milliseconds write_every{25};
    collector::limits memory{};
    record_shares::limits shares{};
};

/// How an audit is at the moment.
struct writer_state {
    std::string folder, file;
    std::string key;              ///< that signs
    chain_position last, sealed;  ///< the latest record and the latest head on the disk
    double sealed_at = 0;         ///< seconds since 1970
    std::string trouble;          ///< why records are not written; empty: they are
    std::string damage;           ///< which file is not as it was written; empty: none is known
    std::uint64_t dropped = 0;    ///< records since the start
};

/// The audit of a server: takes records on the io thread, writes them on a thread of its own. A kill -9 loses those of
/// the last `write_every`, a loss of power those of the last `seal_every`.
class writer final : public sink {
public:
    /// Opens the audit. Throws audit_error.
    explicit writer(writer_options how);
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;
    ~writer() override;

    /// Begins the thread with `first`. Records that came before are written then.
    void start(std::function<void()> first = {});

    /// Writes and signs what there is, with a record `stop` at its end.
    void stop();

    void add(kind is, log::fields with, const json::object* arguments, std::string_view digest = {}) override;
    std::string refusal() override;

    writer_state now() const;

    /// Whether the server before this one has ended in good order, or there was none.
    bool follows_a_stop() const { return journal_.was_stopped(); }

    /// The latest lines, oldest first, some hundred kilobytes at most.
    std::string latest() const;

private:
    void work();
    void turn();
    void take_records();
    void note_losses();
    void seal();
    void publish();
    void report_trouble();
    void share();
    collector::clock::time_point next_turn() const;

    const writer_options how_;
    journal journal_;
    collector collected_;
    std::thread thread_;

    // Of the thread that writes.
    batch batch_;
    digest_maker digests_;
    collector::clock::time_point seal_due_{}, publish_due_{}, trouble_began_{};
    chain_position published_;
    std::string reported_trouble_, reported_damage_, reported_heads_;
    std::uint64_t lost_ = 0;

    // Of both threads.
    std::atomic<std::uint64_t> refused_ = 0;
    std::atomic<bool> troubled_ = false;
    mutable std::mutex mutex_;
    writer_state state_;
    std::string before_, latest_;  // lines; the earlier ones go when the later ones are enough
};

}  // namespace cmcp::audit
