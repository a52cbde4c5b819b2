#include "sandboxes/secret_files.hpp"

#include <fstream>
#include <iterator>

namespace cmcp {

namespace {

const std::string folder_of_files = "/run/container-mcp/";
const std::string bundle_file = "certificates.pem";      // of the system and of the authority
const std::string authority_file = "authority.pem";      // for programs that add it to their own
const std::string wget_file = "wgetrc";

// The programs of images trust what this machine trusts, too.
std::string system_certificates()
{
    for (const char* place : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                              "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
        std::ifstream file(place, std::ios::binary);
        if (file) return {std::istreambuf_iterator<char>(file), {}};
    }
    return {};
}

}  // namespace

void add_secrets(sandbox::run_request& request, const std::vector<held_secret>& secrets, const std::string& certificate)
{
    for (const auto& each : secrets) request.environment.emplace_back(each.name, each.placeholder);
    const std::string bundle = folder_of_files + bundle_file;
    for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
                             "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT", "NIX_SSL_CERT_FILE"})
        request.environment.emplace_back(name, bundle);
    request.environment.emplace_back("NODE_EXTRA_CA_CERTS", folder_of_files + authority_file);
    request.environment.emplace_back("SYSTEM_WGETRC", folder_of_files + wget_file);
    static_cast<void>(certificate);
}

}  // namespace cmcp
