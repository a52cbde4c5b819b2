#include "mcp/arguments/long_arguments.hpp"

#include <optional>
#include <utility>

namespace cmcp {

namespace {

// A step of its own: values of a long message are bounded, so it takes as long as a few slices at most.
template <class Work>
awaitable<fitted_arguments> in_one_slice(blocking_pool& pool, std::string payer, json::object sent, Work work)
{
    const auto held = std::make_shared<fitted_arguments>();
    held->sent = std::move(sent);
    sliced_work<fitted_arguments> slice = [held, work = std::move(work)](slice_end) {
        work(*held);
        return std::optional(std::move(*held));
    };
    auto fitted = co_await pool.run_long(std::move(payer), std::move(slice));
    co_return fitted;
}

}  // namespace

awaitable<fitted_arguments> fit_on_pool(blocking_pool& pool, std::string payer,
                                        std::shared_ptr<const argument_rules> rules, json::object sent, bool validated)
{
    auto work = [rules = std::move(rules), validated](fitted_arguments& all) {
        all.arguments = all.sent;
        if (!validated) all.misfit = rules->validate_anywhere(all.arguments);
        if (all.misfit.empty())
            all.ignored = rules->take_out_unknown(all.arguments);
        else
            all.arguments = json::object();  // ends here, and not on the io thread
    };
    return in_one_slice(pool, std::move(payer), std::move(sent), std::move(work));
}

awaitable<fitted_arguments> validate_on_pool(blocking_pool& pool, std::string payer,
                                             std::shared_ptr<const argument_rules> rules, json::object sent)
{
    auto work = [rules = std::move(rules)](fitted_arguments& all) {
        all.arguments = std::move(all.sent);
        all.misfit = rules->validate_anywhere(all.arguments);
    };
    return in_one_slice(pool, std::move(payer), std::move(sent), std::move(work));
}

}  // namespace cmcp
