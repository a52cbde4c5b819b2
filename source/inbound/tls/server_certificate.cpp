#include "tls/server_certificate.hpp"

#include "config/http_settings.hpp"
#include "log/log.hpp"
#include "tls/make_tls_context.hpp"

#include <algorithm>
#include <filesystem>

namespace cmcp {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours ticket_period(2);

std::vector<fs::path> files_of(const http_settings& config)
{
    std::vector<fs::path> files{config.tls_cert, config.tls_key};
    if (!config.tls_client_ca.empty()) files.push_back(config.tls_client_ca);
    return files;
}

}  // namespace

bool server_certificate::file_state::operator==(const file_state& other) const
{
    return device == other.device && inode == other.inode && size == other.size &&
           written.tv_sec == other.written.tv_sec && written.tv_nsec == other.written.tv_nsec;
}

server_certificate::server_certificate(const http_settings& config)
    : config_(config), tickets_(std::make_shared<ticket_keys>(ticket_period))
{
    const auto places = folders(config);
    if (std::find(places.begin(), places.end(), "/") != places.end())
        throw certificate_problem(
            "A file of TLS_CERT, TLS_KEY or TLS_CLIENT_CA lies in the folder /: put these files into a folder of their "
            "own, because the confined server may read the whole folder");
    read();
}

// stat() follows symbolic links, so the change of a link on the way (Kubernetes exchanges `..data`) is a change, too.
server_certificate::states server_certificate::seen() const
{
    states all;
    for (const auto& file : files_of(config_)) {
        struct stat status {};
        if (::stat(file.c_str(), &status) == 0)
            all.push_back({status.st_dev, status.st_ino, status.st_size, status.st_mtim});
        else
            all.emplace_back();
    }
    return all;
}

// The state comes first: files that change while they are read count as changed.
void server_certificate::read()
{
    read_at_ = looked_at_ = seen();
    context_ = make_tls_context(config_, tickets_);
}

void server_certificate::tell() const
{
    const json::string file(config_.tls_cert.string());
    log::info("tls_certificate", {{"file", file}, {"ends", json::string(context_->ends)}});
    if (!context_->in_its_time)
        log::warning("tls_certificate_out_of_time",
                     {{"file", file},
                      {"advice", "clients refuse it: put a valid certificate there, or set this machine's clock"}});
}

void server_certificate::reload()
try {
    read();
    tell();
} catch (const std::exception& problem) {
    log::error("tls_certificate_kept", {{"reason", problem.what()},
                                        {"advice", "the former certificate stays in use until the files are good"}});
}

void server_certificate::look()
{
    auto now = seen();
    const bool settled = now == looked_at_;
    looked_at_ = std::move(now);
    if (settled && looked_at_ != read_at_) reload();
}

std::vector<std::string> server_certificate::folders(const http_settings& config)
{
    std::vector<std::string> all;
    if (config.tls_cert.empty()) return all;
    for (const auto& file : files_of(config)) {
        std::error_code absent;
        for (const auto& place : {fs::absolute(file), fs::canonical(file, absent)})
            if (!place.empty()) all.push_back(place.parent_path().string());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

}  // namespace cmcp
