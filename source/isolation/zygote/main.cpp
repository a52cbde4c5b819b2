#include "zygote/interpreter.hpp"
#include "zygote/nursery.hpp"
#include "zygote/packed_memory.hpp"
#include "zygote/working_set.hpp"

#include "facilities/capabilities.hpp"
#include "jail/seccomp_filter.hpp"
#include "wire/program_starter.hpp"
#include "wire/wire.hpp"

#include <signal.h>
#include <sys/prctl.h>

#include <exception>
#include <utility>

namespace {

using namespace cmcp;

constexpr int launcher_socket = sandbox::starters_socket;

void say(sandbox::zygote_says what, const std::string& text)
{
    sandbox::send_packet(launcher_socket, sandbox::encoded(what, text));
}

int serve(const std::vector<std::string>& argv)
{
    const auto setup = sandbox::decoded<sandbox::zygote_setup>(sandbox::await_packet(launcher_socket).bytes);
    sandbox::packed_memory memory;
    sandbox::interpreter python(argv, setup.program);
    const std::string about = python.preload(setup.profile);
    sandbox::call_filters filters(setup.memory_is_counted, setup.files_are_own);
    memory.settle();
    sandbox::nursery children(python, sandbox::rehearse(python, argv), std::move(filters), launcher_socket,
                              setup.with_time_namespace);
    memory.settle();  // the rehearsal has left free pieces, and parted pages
    say(sandbox::zygote_says::ready, about);
    children.serve();
    return 0;
}

}  // namespace

int main(int argc, char** argv)
{
    if (!sandbox::begin_started_program("container-mcp-zygote", "container-mcp-launcher", SIGKILL)) return 2;
    ::prctl(PR_SET_NAME, "python3");
    sandbox::drop_all_capabilities();  // children get theirs from their own user namespace
    try {
        return serve({argv, argv + argc});
    } catch (const std::exception& failure) {
        say(sandbox::zygote_says::failed, failure.what());
        return 1;
    }
}
