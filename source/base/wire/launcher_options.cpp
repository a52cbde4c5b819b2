#include "wire/launcher_options.hpp"

#include "wire/wire.hpp"

namespace cmcp::sandbox {

template <class Wire>
void fields(Wire& wire, wired<Wire, zygote_options>& of)
{
    wire(of.path, of.profile, of.waiting, of.runs, of.argv, of.environment);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, run_maxima>& of)
{
    wire(of.memory, of.processes, of.file_size, of.tmp_size, of.open_files);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, browser_program>& of)
{
    wire(of.path, of.memory, of.may_lack_own_sandbox);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, launcher_options>& of)
{
    wire(of.workspaces, of.images, of.data, of.firejail, of.waiting, of.use_cgroups, of.cells, of.most, of.browser,
         of.machines);
}

std::string encode_options(const launcher_options& options)
{
    return encoded(options, options.zygote ? *options.zygote : zygote_options());
}

launcher_options decode_options(std::string_view bytes)
{
    wire_reader in(bytes);
    auto options = in.next<launcher_options>();
    auto zygote = in.next<zygote_options>();
    if (!zygote.path.empty()) options.zygote = std::move(zygote);
    return options;
}

}  // namespace cmcp::sandbox
