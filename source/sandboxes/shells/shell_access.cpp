#include "shells/shell_access.hpp"

#include "sandboxes/gateway_refusal.hpp"

#include <signal.h>

#include <utility>

namespace cmcp {
namespace {

class attached_shell final : public gateway_shell {
public:
    attached_shell(shell_manager& shells, std::shared_ptr<shell_manager::shell> attached)
        : shells_(shells), shell_(std::move(attached))
    {
    }
    attached_shell(const attached_shell&) = delete;
    attached_shell& operator=(const attached_shell&) = delete;
    ~attached_shell() override { hang_up(); }

    awaitable<std::string> read(std::size_t most) override
    {
        shell_manager::touch(*shell_);
        return process().read(most);
    }
    awaitable<bool> type(std::string bytes) override
    {
        shell_manager::touch(*shell_);
        return process().type(std::move(bytes));
    }
    void resize(std::uint16_t columns, std::uint16_t rows) override { process().resize({columns, rows}); }
    bool signal(std::string_view name) override
    {
        const int number = name == "INT" ? SIGINT : name == "QUIT" ? SIGQUIT : name == "TSTP" ? SIGTSTP : 0;
        return number != 0 && (process().signal(number) || !process().alive());
    }
    void hang_up() override
    {
        if (!std::exchange(hung_up_, true)) shells_.release(shell_);
    }
    json::object end() const override
    {
        const auto& ended = shell_manager::process_of(*shell_).end();
        if (!ended) return {};
        return {{"exit_code", ended->exit_code}, {"cause", sandbox::to_string(ended->why)}};
    }

private:
    shell_process& process() { return shell_manager::process_of(*shell_); }

    shell_manager& shells_;
    std::shared_ptr<shell_manager::shell> shell_;
    bool hung_up_ = false;
};

caller caller_by(const login& credentials)
{
    caller who;
    who.principal = credentials.principal;
    who.scopes = credentials.scopes;
    who.profile = credentials.profile;
    return who;
}

}  // namespace

awaitable<std::unique_ptr<gateway_shell>> shell_access::open(login_ptr who, std::string sandbox, std::uint16_t columns,
                                                             std::uint16_t rows)
{
    std::unique_ptr<gateway_shell> opened;
    try {
        auto asking = caller_by(*who);
        auto where = co_await sandboxes_.use(asking, sandbox);
        const sandbox::terminal_size size{columns, rows};
        auto attached = co_await shells_.attach(std::move(asking), std::move(where), size);
        opened = std::make_unique<attached_shell>(shells_, std::move(attached));
    } catch (const std::exception&) {
        pass_on_as_gateway_error(400, 404);
    }
    co_return opened;
}

}  // namespace cmcp
