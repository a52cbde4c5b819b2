#pragma once

#include <filesystem>
#include <string>

namespace cmcp::test {

/// A folder with certificates and keys (PEM, P-256), gone at the end.
class certificates {
public:
    certificates();
    certificates(const certificates&) = delete;
    certificates& operator=(const certificates&) = delete;
    ~certificates();

    struct pair {
        std::filesystem::path certificate, key;
    };

    /// Signs itself. `subject` is the common name.
    pair authority(const std::string& name, const std::string& subject);

    /// `alternatives` as OpenSSL's subjectAltName has them ("DNS:localhost,IP:127.0.0.1"); empty: none. `days`: how
    /// long it is valid from yesterday on.
    pair signed_by(const pair& authority, const std::string& name, const std::string& subject,
                   const std::string& alternatives = "DNS:localhost,IP:127.0.0.1", int days = 30);

    std::filesystem::path file(const std::string& name, const std::string& content);
    const std::filesystem::path& folder() const { return folder_; }

private:
    std::filesystem::path folder_;
};

}  // namespace cmcp::test
