#include "files/workspace_quota.hpp"

#include "files/file_error.hpp"
#include "files/trees.hpp"

#include <utility>

namespace cmcp {

namespace {

// Runs change the workspace, too, so a measurement is soon out of date.
constexpr std::chrono::seconds measurement_lasts(2);

}  // namespace

struct workspace_quota::usage {
    std::uint64_t measured = 0;
    std::uint64_t written = 0;  // since then
    clock::time_point at{};     // when the measurement began
    bool taken = false;
    event freed;
};

workspace_quota::turn::turn(std::string principal, std::string workspace, std::shared_ptr<usage> of)
    : principal_(std::move(principal)), workspace_(std::move(workspace)), of_(std::move(of))
{
    of_->taken = true;
}

workspace_quota::turn::~turn()
{
    if (!of_) return;
    of_->taken = false;
    of_->freed.notify();
}

awaitable<workspace_quota::turn> workspace_quota::begin(std::string principal, std::filesystem::path workspace)
{
    forget_idle();
    auto& known = usages_[workspace.string()];
    if (!known) known = std::make_shared<usage>();
    const auto of = known;
    while (of->taken) co_await of->freed.wait();
    co_return turn(std::move(principal), workspace.string(), of);
}

awaitable<> workspace_quota::check(const turn& of, std::uint64_t bytes)
{
    const auto now = clock::now();
    const std::uint64_t most = most_(of.principal_);
    const auto sum = [&known = *of.of_, bytes] { return known.measured + known.written + bytes; };
    if (of.of_->at < out_of_date() || of.of_->written + bytes > most / unmeasured_part) co_await measure(of);
    if (sum() > most && of.of_->at < now) co_await measure(of);
    if (sum() <= most) co_return;
    throw file_error("The workspace would take " + std::to_string(sum() >> 20) + " MiB of disk, more than the " +
                     std::to_string(most >> 20) +
                     " MiB that it may hold (SANDBOX_WORKSPACE_MAX_MB, or your quota). Delete files first "
                     "(file_delete, or rm in a run).");
}

void workspace_quota::written(const turn& of, std::uint64_t bytes) { of.of_->written += bytes; }

workspace_quota::clock::time_point workspace_quota::out_of_date() { return clock::now() - measurement_lasts; }

void workspace_quota::forget_idle()
{
    std::erase_if(usages_,
                  [](const auto& each) { return each.second.use_count() == 1 && each.second->at < out_of_date(); });
}

awaitable<> workspace_quota::measure(const turn& of)
{
    const auto began = clock::now();
    auto work = disk_usage(of.workspace_);
    of.of_->measured = co_await pool_.run_long(of.principal_, std::move(work));
    of.of_->written = 0;  // the workspace's only turn is `of`
    of.of_->at = began;
}

}  // namespace cmcp
