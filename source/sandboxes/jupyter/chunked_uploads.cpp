#include "jupyter/chunked_uploads.hpp"

#include "http/http_refusal.hpp"

#include <algorithm>

namespace cmcp::jupyter {

namespace {

constexpr auto ending_limit = std::chrono::seconds(5);
constexpr std::size_t most_uploads = 8;  // of an owner at a time

http_refusal out_of_order(std::int64_t number, std::int64_t next)
{
    return {400, "chunk " + std::to_string(number) + " does not follow: chunk " + std::to_string(next) +
                     " or -1, the last one, was expected. Send the file again from chunk 1."};
}

}  // namespace

// A first piece begins the file anew, also where an earlier attempt was given up.
awaitable<std::shared_ptr<chunked_uploads::upload>> chunked_uploads::find_or_begin(const key& name, caller who,
                                                                                   place to, std::int64_t number)
{
    if (number == 1) {
        all_.erase(name);
        const auto own = [&](const auto& entry) { return entry.first.first == name.first; };
        if (static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), own)) >= most_uploads)
            throw http_refusal(429, "At most " + std::to_string(most_uploads) +
                                        " files are uploaded in chunks at a time; finish one of them first.");
        const auto fresh = std::make_shared<upload>();
        fresh->busy = true;
        fresh->until = event::clock::now() + patience_;
        all_[name] = fresh;
        try {
            auto file = co_await files_.begin(who.principal, to.where.id, to.inside, std::nullopt);
            fresh->file = std::move(file);
        } catch (...) {
            if (const auto at = all_.find(name); at != all_.end() && at->second == fresh) all_.erase(at);
            throw;
        }
        co_return fresh;
    }
    const auto at = all_.find(name);
    if (at == all_.end()) throw http_refusal(400, "There is no upload of this file: send it again from chunk 1.");
    const auto there = at->second;
    if (there->busy) throw http_refusal(409, "The chunk before is not stored yet; send one chunk after the other.");
    if (number != last && number != there->next) throw out_of_order(number, there->next);
    there->busy = true;
    co_return there;
}

awaitable<std::uint64_t> chunked_uploads::put(caller who, place to, std::int64_t number, std::string bytes)
{
    if (number < last || number == 0)
        throw http_refusal(400, "chunk must be 1, 2, … and -1 for the last one, not " + std::to_string(number) + ".");
    const key name{who.principal, to.where.id + '/' + to.inside};
    const auto one = co_await find_or_begin(name, std::move(who), std::move(to), number);
    const auto forget = [&] {
        if (const auto at = all_.find(name); at != all_.end() && at->second == one) all_.erase(at);
    };
    const auto more = bytes.size();
    try {
        co_await one->file->write(std::move(bytes));
        if (number == last) co_await one->file->finish();
    } catch (...) {
        forget();
        throw;
    }
    one->size += more;
    ++one->next;
    one->busy = false;
    one->until = event::clock::now() + patience_;
    if (number == last) forget();
    if (!all_.empty() && !std::exchange(watched_, true)) tasks_.spawn("jupyter uploads", drop_late());
    co_return one->size;
}

awaitable<> chunked_uploads::stop()
{
    all_.clear();
    tasks_.cancel_all();
    co_await tasks_.wait_idle(ending_limit);
}

// An upload that nobody goes on with would keep its sandbox in use.
awaitable<> chunked_uploads::drop_late()
{
    while (!all_.empty()) {
        const auto earlier = [](const auto& a, const auto& b) { return a.second->until < b.second->until; };
        const auto next = std::min_element(all_.begin(), all_.end(), earlier)->second->until;
        co_await changed_.wait(next);
        const auto now = event::clock::now();
        std::erase_if(all_, [&](const auto& entry) { return !entry.second->busy && entry.second->until <= now; });
        for (auto& [name, one] : all_)
            if (one->busy) one->until = std::max(one->until, now + patience_);
    }
    watched_ = false;
}

}  // namespace cmcp::jupyter
