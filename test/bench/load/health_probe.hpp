#pragma once

#include "load/http_channel.hpp"
#include "load/recorder.hpp"

#include <boost/asio/steady_timer.hpp>

namespace cmcp::load {

/// Requests one page of a server at even intervals during the load, over a connection of its own. The time of an answer
/// counts from when its request was due.
class health_probe final : private http_channel::user {
public:
    health_probe(asio::any_io_executor executor, const load_options& options, route& way, traffic& counted,
                 recorder& into);

    void start();
    void stop();

private:
    void wait();
    void ask();
    void answer_head(http_channel& from, const response_head& head) override;
    void answer_body(http_channel& from, std::string_view piece) override;
    void answer_end(http_channel& from) override;
    void answer_lost(http_channel& from, const std::string& reason) override;

    const load_options& options_;
    route& way_;
    recorder& record_;
    http_channel channel_;
    asio::steady_timer timer_;
    clock::time_point due_;
    int status_ = 0;
};

}  // namespace cmcp::load
