#include "load/server_list.hpp"

#include <algorithm>

namespace cmcp::load {

namespace {

constexpr std::chrono::milliseconds first_back_off(100);
constexpr std::chrono::milliseconds longest_back_off(2000);

}  // namespace

server_list::server_list(const load_options& options, std::size_t connections)
{
    for (const auto& address : options.servers) servers_.emplace_back(address, options, connections);
}

// The calls of many clients end with their server, and only the first of them and the tries that follow count.
void server_list::failed(std::size_t which, clock::time_point now)
{
    auto& server = servers_[which];
    if (server.gone && !server.tried) return;
    server.back_off = server.gone ? std::min<clock::duration>(server.back_off * 2, longest_back_off) : first_back_off;
    server.gone = true;
    server.tried = false;
    server.again_at = now + server.back_off;
}

void server_list::answered(std::size_t which) { servers_[which].gone = servers_[which].tried = false; }

bool server_list::claim(std::size_t which, clock::time_point now)
{
    auto& server = servers_[which];
    if (!server.gone) return true;
    if (server.tried || now < server.again_at) return false;
    server.tried = true;
    return true;
}

std::size_t server_list::choose(std::size_t home, clock::time_point now)
{
    for (std::size_t i = 0; i < size(); ++i) {
        auto next = (home + i) % size();
        if (claim(next, now)) return next;
    }
    return home;
}

}  // namespace cmcp::load
