#include "vault/passing_chunks.hpp"

#include "async/task_group.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>

namespace cmcp {

namespace {

constexpr std::chrono::hours longest_passing(24);

struct passing_chunks {
    std::vector<passing_chunk> all;
    std::function<awaitable<>(passing_chunk)> pass;
    std::size_t next = 0;
    std::exception_ptr failure{};
};

awaitable<> pass_some(std::shared_ptr<passing_chunks> chunks)
{
    try {
        while (chunks->next < chunks->all.size() && !chunks->failure) {
            auto chunk = std::move(chunks->all[chunks->next++]);
            co_await chunks->pass(std::move(chunk));
        }
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error&) {
        chunks->failure = std::current_exception();
    }
}

}  // namespace

awaitable<std::exception_ptr> pass_chunks(asio::any_io_executor executor, std::vector<passing_chunk> all,
                                          std::size_t at_once, std::function<awaitable<>(passing_chunk)> pass)
{
    const auto chunks = std::make_shared<passing_chunks>();
    chunks->all = std::move(all);
    chunks->pass = std::move(pass);
    task_group passing(executor);
    for (std::size_t i = 0; i != at_once; ++i) passing.spawn("parts of a sandbox", pass_some(chunks));
    const bool ended = co_await passing.wait_idle(longest_passing);
    if (!ended || (chunks->next < chunks->all.size() && !chunks->failure))
        co_return std::make_exception_ptr(std::runtime_error("parts of the sandbox have not passed"));
    co_return chunks->failure;
}

}  // namespace cmcp
