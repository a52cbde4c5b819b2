#pragma once

#include "load/operation.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cmcp::load {

/// The address of a server, from http://host[:port][/path].
struct server_address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 80;
    std::string path = "/mcp";

    std::string authority() const;          ///< for the Host header
};

/// Throws std::invalid_argument with a sentence.
server_address parse_address(std::string_view url);

/// What a load test does; see load_command_line.cpp for the words that users say it in.
struct load_options {
    server_address server;
    std::vector<std::string> command;       ///< stdio: the server's argv, one process a session
    load::transport transport = transport::streamable;
    std::string revision;                   ///< of the older eras; empty: the newest that the transport has
    std::vector<std::string> headers;       ///< "Name: value", on every request
    std::vector<operation> calls;
    bool progress = false;                  ///< ask for progress of tool calls

    std::size_t sessions = 16;              ///< that call
    std::size_t idle = 0;                   ///< that only hold their stream
    std::size_t slow = 0;                   ///< that call, but read slowly
    std::size_t slow_rate = 1024;           ///< bytes a second of each of them
    std::size_t opening = 128;              ///< sessions that may be connecting at a time
    std::size_t sources = 0;                ///< loopback addresses to connect from; 0: as many as ports need

    double rate = 0;                        ///< calls a second, all sessions together; 0: closed loop
    bool poisson = false;                   ///< open loop: random arrivals instead of even ones
    std::chrono::milliseconds duration{10'000};
    std::chrono::milliseconds warm_up{0};
    std::uint64_t count = 0;                ///< calls; 0: bounded by time alone
    std::chrono::milliseconds timeout{30'000};  ///< of a call or an opening
    std::chrono::milliseconds drain{5'000};     ///< wait for the last answers

    std::string health;                     ///< path that is asked beside the load; empty: none
    std::chrono::milliseconds health_every{20};
    int pid = 0;                            ///< of the server: its CPU time and memory are reported
    std::filesystem::path json;             ///< report as JSON; "-": standard output instead of the table
    bool quiet = false;                     ///< no live progress
};

}  // namespace cmcp::load
