#include "commands/commands.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "jsonrpc/write_json.hpp"
#include "secrets/secret_error.hpp"
#include "secrets/secret_order.hpp"
#include "server/act_record.hpp"
#include "server/sandbox_start.hpp"
#include "text/time_text.hpp"

#include <chrono>
#include <iostream>
#include <stdexcept>

#include <openssl/crypto.h>
#include <termios.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

constexpr std::size_t most_of_input = 64 * 1024;

/// A terminal does not show what is typed meanwhile.
class silent_terminal {
public:
    silent_terminal() : is_one_(::tcgetattr(STDIN_FILENO, &before_) == 0)
    {
        if (!is_one_) return;
        termios silent = before_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
        std::cerr << "Value: " << std::flush;
    }
    silent_terminal(const silent_terminal&) = delete;
    silent_terminal& operator=(const silent_terminal&) = delete;
    ~silent_terminal()
    {
        if (!is_one_) return;
        ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
        std::cerr << '\n';
    }
    bool is_one() const { return is_one_; }

private:
    termios before_{};
    bool is_one_;
};

// Without a terminal all of it, so that a second line is noticed; an end of line is nobody's value.
std::string read_value()
{
    const silent_terminal terminal;
    std::string value;
    char piece[1024];
    for (ssize_t got = 0; value.size() < most_of_input && (got = ::read(STDIN_FILENO, piece, sizeof piece)) > 0;) {
        value.append(piece, static_cast<std::size_t>(got));
        if (terminal.is_one() && value.ends_with('\n')) break;
    }
    ::OPENSSL_cleanse(piece, sizeof piece);
    if (value.ends_with('\n')) value.pop_back();
    if (value.ends_with('\r')) value.pop_back();
    return value;
}

secret_store open_secrets(const settings& config)
{
    prepare_sandbox_root(config);
    return secret_store(secret_store::file_in(config.sandbox_root));
}

int keep_secret(const settings& config, const secret_line& line)
{
    act_record act(config, "secret set");
    auto store = open_secrets(config);
    auto value = read_value();
    const auto fresh = set_secret(store, config, line.wanted, value, seconds_since_1970());
    ::OPENSSL_cleanse(value.data(), value.size());
    act.done(subject_of(fresh));
    std::cout << "the secret " << subject_of(fresh) << " is set; sandboxes that run without secrets have it after "
              << "their next start\n";
    return 0;
}

int drop_secret(const settings& config, const secret_line& line)
{
    act_record act(config, "secret remove");
    const auto principal = principal_in(line.wanted);
    auto store = open_secrets(config);
    if (!store.remove(line.wanted.name, principal, line.wanted.sandbox))
        throw config_error(
            "there is no such secret; `container-mcp secret list` shows those that are there, each with "
            "--principal and --sandbox");
    act.done(line.wanted.name + (principal.empty() ? "" : " of " + principal));
    std::cout << "the secret " << line.wanted.name << " is removed\n";
    return 0;
}

std::string times_of(const secret_record& secret)
{
    const auto day = [](double when) { return utc_text(static_cast<std::time_t>(when), "%Y-%m-%d %H:%M"); };
    return "set " + day(secret.created) + (secret.used == 0 ? ", never used" : ", used " + day(secret.used));
}

int list_secrets(const settings& config, bool json)
{
    json::array rows;
    const auto store = secret_store::existing(config.sandbox_root);
    for (const auto& secret : store ? store->all() : std::vector<secret_record>()) {
        if (json)
            rows.push_back(describe(secret));
        else
            std::cout << subject_of(secret) << "  " << secret.place << "  " << times_of(secret) << '\n';
    }
    if (json) std::cout << jsonrpc::write_json(rows) << '\n';
    return 0;
}

}  // namespace

int secrets(const loaded_settings& loaded, const secret_line& line, bool json)
try {
    if (line.action == "list") return list_secrets(loaded.values, json);
    return line.action == "set" ? keep_secret(loaded.values, line) : drop_secret(loaded.values, line);
} catch (const std::invalid_argument& wrong) {
    throw config_error(wrong.what());
} catch (const secret_error& wrong) {
    throw config_error(wrong.what());
}

}  // namespace cmcp::command
