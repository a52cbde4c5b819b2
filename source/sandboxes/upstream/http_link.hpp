#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "config/upstream_entry.hpp"
#include "upstream/link_messages.hpp"
#include "upstream/reply_receiver.hpp"
#include "upstream/upstream_link.hpp"
#include "web/http_client.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace cmcp {

/// An upstream server over Streamable HTTP: revision 2026-07-28 where it speaks that, else a session of an older one.
/// Its host and port may be anywhere, because the operator named them; nothing else is connected to. Lives until its
/// requests have ended.
class http_link final : public upstream_link, public std::enable_shared_from_this<http_link> {
public:
    /// `entry` must outlive this. Throws config_error: the URL is none.
    http_link(asio::any_io_executor executor, const upstream_entry& entry, std::shared_ptr<http_client> client,
              blocking_pool& pool);

    awaitable<json::object> ask(upstream_request wanted) override;
    std::string protocol() const override { return protocol_; }
    bool is_open() const override { return !protocol_.empty(); }
    awaitable<> close() override;

private:
    /// A message on its way.
    struct post {
        std::string body;
        std::string method;  ///< of a request
        std::string name;    ///< of its tool
        std::vector<std::pair<std::string, std::string>> fields;
        std::string session;  ///< that it was sent in
        std::string resumes;  ///< the event behind which an answer is to go on; then this is no message, but a GET
        bool stateless = false;
    };

    awaitable<json::object> ask_open(upstream_request wanted);
    awaitable<> open();
    awaitable<> open_now();
    awaitable<bool> discover();
    awaitable<> initialize();
    awaitable<json::object> exchange(upstream_request wanted, bool stateless);
    awaitable<json::object> exchange_once(upstream_request wanted, std::int64_t id, bool stateless);
    awaitable<> send(std::shared_ptr<post> message, reply_receiver& to);
    static bool can_go_on(const reply_receiver& reply, const post& sent);
    awaitable<> send_or_break_off(std::shared_ptr<post> message, reply_receiver& to);
    awaitable<> go_on(std::string session, stream_position from, std::shared_ptr<awaited_answer> answer);
    awaitable<stream_position> read_on(std::string session, stream_position from,
                                       std::shared_ptr<awaited_answer> answer);
    awaitable<> notify(std::string body);
    awaitable<> end_session();
    void listen_soon();
    static awaitable<> listen(std::shared_ptr<http_link> self);
    awaitable<> listen_once();
    fetch_request listening_request();
    void notify_soon(std::string body);
    fetch_request request_for(const post& message) const;
    post post_of(std::string body) const;
    json::object end_of(reply_receiver& reply, awaited_answer& answer, const post& sent);
    void take_session(const std::string& id);
    void forget_session(const std::string& id);

    const upstream_entry& entry_;
    std::shared_ptr<http_client> client_;
    web_url url_;
    std::shared_ptr<const egress_policy> policy_;
    link_messages messages_;
    held_bytes held_;
    std::string protocol_;  // empty: not open
    std::string session_;
    bool stateless_ = false;
    bool is_old_ = false;  // speaks an older revision, as is known
    bool opening_ = false;
    bool closed_ = false;
    bool listening_ = false;
    bool has_no_stream_ = false;
    event::clock::time_point used_;
    event opened_;
    std::int64_t next_id_ = 1;
    task_group tasks_;
};

}  // namespace cmcp
