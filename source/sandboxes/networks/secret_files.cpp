#include "networks/secret_files.hpp"

#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>

namespace cmcp {

namespace {

const std::string folder_of_files = std::string(sandbox::given_folder) + "/own/";
const std::string bundle_name = "certificates.pem";  // of the system and of the authority
const std::string authority_name = "authority.pem";  // for programs that add it to their own
const std::string wget_name = "wgetrc";

// The programs of images trust what this machine trusts, too. It is a quarter of a megabyte, and read on the loop.
std::string system_certificates()
{
    for (const char* place : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                              "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
        const unique_fd file(::open(place, O_RDONLY | O_CLOEXEC));
        if (file) return read_all(file.get());
    }
    return {};
}

}  // namespace

void add_secret_files(sandbox::run_request& request, const std::string& certificate)
{
    static const std::string of_system = system_certificates();
    request.files.push_back({bundle_name, of_system + "\n" + certificate});
    request.files.push_back({authority_name, certificate});
    request.files.push_back({wget_name, "ca_certificate = " + folder_of_files + bundle_name + "\n"});
}

// wget reads no variable for certificates, but a file of settings.
void add_secret_variables(sandbox::run_request& request, const std::vector<held_secret>& secrets)
{
    if (secrets.empty()) return;
    for (const auto& each : secrets) request.environment.emplace_back(each.name, each.placeholder);
    for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
                             "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT", "NIX_SSL_CERT_FILE"})
        request.environment.emplace_back(name, folder_of_files + bundle_name);
    request.environment.emplace_back("NODE_EXTRA_CA_CERTS", folder_of_files + authority_name);
    request.environment.emplace_back("SYSTEM_WGETRC", folder_of_files + wget_name);
}

}  // namespace cmcp
