#include "jail/call_filters.hpp"

#include "jail/uncounted_memory.hpp"

namespace cmcp::sandbox {

call_filters::call_filters(bool counted)
    : memory_is_counted(counted),
      general(compile_filter(true)),
      listed(compile_filter(false)),
      announcing_general(compile_announcing_filter(true)),
      announcing_listed(compile_announcing_filter(false)),
      uncounted(refuse_uncounted_memory())
{
}

std::vector<const bpf_program*> call_filters::choose(const program_view& programs) const
{
    std::vector<const bpf_program*> chosen;
    // The first filter must still allow installing the second.
    chosen.push_back(programs.all ? &general : &listed);
    if (!memory_is_counted) chosen.push_back(&uncounted);
    return chosen;
}

const bpf_program* call_filters::announcing(const program_view& programs) const
{
    return programs.all ? &announcing_general : &announcing_listed;
}

}  // namespace cmcp::sandbox
