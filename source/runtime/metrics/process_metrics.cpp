#include "metrics/registry.hpp"
#include "prebuilt/version.hpp"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace cmcp::metrics {

namespace {

double cpu_seconds()
{
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

// proc(5), /proc/PID/statm: the second word, in pages.
double resident_bytes()
{
    std::ifstream file("/proc/self/statm");
    double total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_descriptors()
{
    std::error_code error;
    double number = 0;
    for (std::filesystem::directory_iterator each("/proc/self/fd", error), end; !error && each != end;
         each.increment(error))
        ++number;
    return number;
}

}  // namespace

void observe_process()
{
    all()
        .gauges("cmcp_build_info", "The version of the server; always 1.", {"version", "compiler"})
        .at({CMCP_VERSION, __VERSION__})
        .set(1);
    auto start = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    all().observe(nullptr, "process_cpu_seconds_total", "CPU time of the server, user and system.", cpu_seconds);
    all().observe(nullptr, "process_resident_memory_bytes", "Memory of the server.", resident_bytes);
    all().observe(nullptr, "process_open_fds", "Open file descriptors.", open_descriptors);
    all().observe(nullptr, "process_start_time_seconds", "When the server started, seconds since 1970.",
                  [start] { return start; });
}

}  // namespace cmcp::metrics
