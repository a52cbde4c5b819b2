#include "directory/directory.hpp"

#include "config/cluster_settings.hpp"
#include "config/config_error.hpp"
#include "egress/tls_trust.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds first_pause(100), longest_pause(2000);

directory_address address_from(const cluster_settings& config)
{
    auto address = directory_address::read(config.cluster_directory);
    if (!address) throw config_error("CLUSTER_DIRECTORY is no redis:// or rediss:// address");
    return *std::move(address);
}

// Servers with TLS ask for a certificate unless they are told otherwise, so the member shows its own.
boost::asio::ssl::context trust_from(const cluster_settings& config, bool secure)
{
    if (!secure) return boost::asio::ssl::context(boost::asio::ssl::context::tls_client);
    auto context = make_client_context(config.cluster_ca);
    context.use_certificate_chain_file(config.cluster_cert.string());
    context.use_private_key_file(config.cluster_key.string(), boost::asio::ssl::context::pem);
    return context;
}

void count(std::string_view outcome)
{
    static auto& questions = metrics::all().counters(
        "cmcp_directory_questions_total", "What was asked of the directory of the cluster, by outcome.", {"outcome"});
    questions.at({outcome}).add();
}

}  // namespace

directory::directory(asio::any_io_executor executor, const cluster_settings& config)
    : executor_(executor), address_(address_from(config)), tls_(trust_from(config, address_.secure)), tasks_(executor)
{
}

awaitable<> directory::run()
{
    auto pause = first_pause;
    for (;;) {
        std::string why;
        auto link = std::make_shared<directory_link>(address_, tls_);
        auto ear = std::make_shared<directory_link>(address_, tls_);
        try {
            co_await connect_and_read(link, ear);
        } catch (const boost::system::system_error&) {
            throw;
        } catch (const std::runtime_error& away) {
            why = away.what();
        }
        if (link_) pause = first_pause;
        link_.reset();
        ++connections_;
        link->close();
        ear->close();
        note_change(false, why);
        asio::steady_timer timer(executor_, pause);
        co_await timer.async_wait(asio::use_awaitable);
        pause = std::min(2 * pause, longest_pause);
    }
}

namespace {

// Where nothing is heard any more, both connections are made anew.
awaitable<> hear_until_end(std::shared_ptr<directory_link> ear, std::shared_ptr<directory_link> link)
{
    try {
        co_await ear->read();
    } catch (const directory_away&) {
        link->close();
    }
}

// The reader says why it ended.
awaitable<> write_to(std::shared_ptr<directory_link> link)
{
    try {
        co_await link->write();
    } catch (const directory_away&) {
        link->close();
    }
}

}  // namespace

awaitable<> directory::connect_and_read(std::shared_ptr<directory_link> link, std::shared_ptr<directory_link> ear)
{
    co_await link->connect();
    if (!listeners_.empty()) {
        listener heard = [this](const std::string& text) { hear(text); };
        co_await ear->connect();
        co_await ear->listen(news_channel, std::move(heard));
        tasks_.spawn("what is published in the directory", hear_until_end(ear, link));
    }
    ++connections_;
    link_ = link;
    note_change(true, {});
    arrived_.notify();
    tasks_.spawn("what is asked of the directory", write_to(link));
    co_await link->read();
}

void directory::hear(const std::string& text) const
{
    for (const auto& each : listeners_) each(text);
}

void directory::note_change(bool is_there, const std::string& why)
{
    if (is_there) log::info("directory_reached", {{"host", address_.host}, {"port", address_.port}});
    if (!is_there && why != trouble_)
        log::warning("directory_away",
                     {{"host", address_.host},
                      {"port", address_.port},
                      {"reason", why},
                      {"advice", "this server counts its own alone until CLUSTER_DIRECTORY answers again"}});
    trouble_ = why;
}

awaitable<std::vector<directory_reply>> directory::ask(std::vector<directory_command> commands)
{
    std::vector<directory_reply> none;
    const auto link = link_;
    std::vector<directory_reply> answers;
    if (link) answers = co_await link->ask(std::move(commands));
    const auto is_error = [](const directory_reply& each) { return each.is == directory_reply::kind::error; };
    const auto refused = std::find_if(answers.begin(), answers.end(), is_error);
    count(refused != answers.end() ? "refused" : answers.empty() ? "away" : "answered");
    if (refused == answers.end()) co_return answers;
    log::warning("directory_refused", {{"reason", refused->text}});
    co_return none;
}

}  // namespace cmcp
