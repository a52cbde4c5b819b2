#pragma once

#include "load/operation.hpp"
#include "load/scenario.hpp"
#include "load/server_address.hpp"
#include "load/threshold.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::load {

/// The settings of a load test; load_command_line.cpp has the options that set them.
struct load_options {
    std::vector<server_address> servers = std::vector<server_address>(1);
    std::vector<std::string> command;  ///< stdio: the server's argv, one process a session
    load::transport transport = transport::streamable;
    std::string revision;              ///< the only one that will do; empty: offer the newest, take the server's answer
    bool verify = true;                ///< https: the server's certificate must be trusted and name the host
    std::vector<std::string> headers;  ///< "Name: value", on every request
    std::vector<operation> calls;
    std::optional<load::scenario> scenario;  ///< whose steps are the calls, in this order
    bool progress = false;                   ///< ask for progress of tool calls
    bool allow_nonzero = false;              ///< a run that ended with another exit code than 0 counts as succeeded

    std::size_t sessions = 16;     ///< that call
    std::size_t idle = 0;          ///< that only hold their stream
    std::size_t slow = 0;          ///< that call, but read slowly
    std::size_t slow_rate = 1024;  ///< bytes a second of each of them
    std::size_t opening = 128;     ///< sessions that may be connecting at a time
    std::size_t sources = 0;       ///< loopback addresses to connect from; 0: as many as ports need

    double rate = 0;       ///< calls a second, all sessions together; 0: closed loop
    bool poisson = false;  ///< open loop: random arrivals instead of even ones
    std::chrono::milliseconds duration{10'000};
    std::chrono::milliseconds warm_up{0};
    std::uint64_t count = 0;                    ///< calls; 0: bounded by time alone
    std::chrono::milliseconds timeout{30'000};  ///< of a call or an opening
    std::chrono::milliseconds drain{5'000};     ///< wait for the last answers

    std::string health;  ///< path that is asked beside the load; empty: none
    std::chrono::milliseconds health_every{20};
    int pid = 0;                                 ///< of the server: its CPU time and memory are reported
    std::filesystem::path json;                  ///< report as JSON; "-": standard output instead of the table
    std::filesystem::path junit;                 ///< the outcome as JUnit has it, for CI
    std::filesystem::path markdown;              ///< the same for people
    std::vector<std::filesystem::path> compare;  ///< earlier reports as JSON
    bool quiet = false;                          ///< no live progress
    std::vector<threshold> thresholds;           ///< judged at the end

    bool has_stages() const { return scenario && !scenario->stages.empty(); }
    bool is_open_loop() const { return rate > 0 || has_stages(); }
    std::string target() const;  ///< the addresses or the command, for sentences
};

/// The newest revision with `initialize` that the transport has.
std::string_view newest_revision(transport over);

}  // namespace cmcp::load
