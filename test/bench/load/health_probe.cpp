#include "load/health_probe.hpp"

#include "load/http_texts.hpp"

namespace cmcp::load {

health_probe::health_probe(asio::any_io_executor executor, const load_options& options, route& way, traffic& counted,
                           recorder& into)
    : options_(options), way_(way), record_(into), channel_(executor, counted, *this), timer_(executor)
{
}

void health_probe::start()
{
    due_ = clock::now();
    wait();
}

void health_probe::stop()
{
    timer_.cancel();
    if (channel_.waiting()) record_.health.record((clock::now() - due_).count());
    channel_.close();
}

void health_probe::wait()
{
    timer_.expires_at(due_);
    timer_.async_wait([this](boost::system::error_code error) {
        if (!error) ask();
    });
}

void health_probe::ask()
{
    status_ = 0;
    channel_.request(way_, get_text(options_, way_.to(), options_.health, "*/*", ""));
}

void health_probe::answer_head(http_channel&, const response_head& head) { status_ = head.status; }

void health_probe::answer_body(http_channel&, std::string_view) {}

void health_probe::answer_end(http_channel&)
{
    if (status_ == 200)
        record_.health.record((clock::now() - due_).count());
    else
        record_.health_errors.add({"HTTP " + std::to_string(status_), {}});
    due_ += options_.health_every;
    wait();
}

void health_probe::answer_lost(http_channel&, const std::string& reason)
{
    record_.health_errors.add({reason, {}});
    due_ += options_.health_every;
    wait();
}

}  // namespace cmcp::load
