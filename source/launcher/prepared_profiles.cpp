#include "launcher/prepared_profiles.hpp"

#include <algorithm>

namespace cmcp::sandbox {
namespace {

zygote_options with_profile(zygote_options options, const char* profile)
{
    options.profile = profile;
    return options;
}

}  // namespace

prepared_profiles::prepared_profiles(run_keeper& keeper, zygote_options options)
    : keeper_(keeper),
      options_(std::move(options)),
      first_(keeper_, options_.profile == "auto" ? with_profile(options_, "stdlib") : options_, 0)
{
}

bool prepared_profiles::take(start_message& start, std::vector<unique_fd>& descriptors)
{
    const bool for_second = options_.profile == "auto" && start.request.prepared && start.request.data_libraries;
    if (for_second && !data_) data_ = std::make_unique<prepared_runs>(keeper_, with_profile(options_, "data"), 1);
    return (for_second && data_->take(start, descriptors)) || first_.take(start, descriptors);
}

bool prepared_profiles::cancel(std::uint64_t id) { return first_.cancel(id) || (data_ && data_->cancel(id)); }

void prepared_profiles::handle(std::uint64_t tag)
{
    if (prepared_runs::lane_of_tag(tag) == 0)
        first_.handle(tag);
    else if (data_)
        data_->handle(tag);
}

void prepared_profiles::heard_of(std::uint64_t key)
{
    first_.heard_of(key);
    if (data_) data_->heard_of(key);
}

void prepared_profiles::lost(std::uint64_t key, const std::string& why)
{
    first_.lost(key, why);
    if (data_) data_->lost(key, why);
}

steady_time prepared_profiles::next_event() const
{
    return std::min(first_.next_event(), data_ ? data_->next_event() : steady_time::max());
}

void prepared_profiles::look(steady_time now, std::size_t running)
{
    if (now >= first_.next_event()) first_.look(now, running);
    if (data_ && now >= data_->next_event()) data_->look(now, running);
}

}  // namespace cmcp::sandbox
