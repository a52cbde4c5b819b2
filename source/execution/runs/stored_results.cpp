#include "runs/stored_results.hpp"

namespace cmcp {

awaitable<std::string> stored_results::keep(caller who, std::string text)
{
    auto folder = co_await find_(who);
    output_location where{who.principal, std::move(folder)};
    auto file = co_await outputs_.create(std::move(where));
    if (!file) co_return std::string();
    const bool is_stored = co_await outputs_.append(file, std::move(text));
    co_return is_stored ? file->path() : std::string();
}

}  // namespace cmcp
