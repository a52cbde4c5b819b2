#include "sealing/sealing.hpp"

#include "sealing/bad_snapshot.hpp"
#include "text/random_id.hpp"
#include "text/signature.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <zstd.h>

#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>

namespace cmcp::snapshots {

namespace {

// A sealed text: this byte, the nonce, the encrypted bytes, the tag.
constexpr char sealed_version = 1;
constexpr std::size_t nonce_size = 12, tag_size = 16, head_size = 1 + nonce_size;
constexpr int compression_level = 3;

struct openssl_deleter {
    void operator()(EVP_KDF* object) const { ::EVP_KDF_free(object); }
    void operator()(EVP_KDF_CTX* object) const { ::EVP_KDF_CTX_free(object); }
    void operator()(EVP_CIPHER_CTX* object) const { ::EVP_CIPHER_CTX_free(object); }
};
template <class Object>
using openssl_ptr = std::unique_ptr<Object, openssl_deleter>;

unsigned char* octets(char* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* octets(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

// RFC 5869; without a salt, because the key is random.
std::string derived_key(std::string_view key, std::string label)
{
    std::string secret(key), derived(chunk_sealer::key_size, '\0'), digest = "SHA256";
    const OSSL_PARAM params[] = {
        ::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
        ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
        ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, label.data(), label.size()),
        ::OSSL_PARAM_construct_end(),
    };
    const openssl_ptr<EVP_KDF> kdf(::EVP_KDF_fetch(nullptr, "HKDF", nullptr));
    const openssl_ptr<EVP_KDF_CTX> context(kdf ? ::EVP_KDF_CTX_new(kdf.get()) : nullptr);
    const bool right = context && ::EVP_KDF_derive(context.get(), octets(derived.data()), derived.size(), params) == 1;
    ::OPENSSL_cleanse(secret.data(), secret.size());
    if (!right) throw std::runtime_error("the library has no HKDF");
    return derived;
}

/// AES-256-GCM of one text; `encrypts` is 1 or 0, as the library wants it.
class gcm_run {
public:
    gcm_run(std::string_view key, std::string_view nonce, int encrypts) : context_(::EVP_CIPHER_CTX_new())
    {
        if (!context_ || ::EVP_CipherInit_ex(context_.get(), ::EVP_aes_256_gcm(), nullptr, octets(key), octets(nonce),
                                             encrypts) != 1)
            throw std::runtime_error("the library has no AES-256-GCM");
    }

    /// Takes bytes that are authenticated, and not encrypted.
    void authenticate(std::string_view bytes) { update(nullptr, bytes); }

    void update(char* to, std::string_view from)
    {
        int written = 0;
        if (from.size() > std::numeric_limits<int>::max() ||
            ::EVP_CipherUpdate(context_.get(), octets(to), &written, octets(from), static_cast<int>(from.size())) != 1)
            throw std::runtime_error("a text cannot be encrypted");
    }

    bool finish()
    {
        unsigned char none[EVP_MAX_BLOCK_LENGTH];
        int written = 0;
        return ::EVP_CipherFinal_ex(context_.get(), none, &written) == 1;
    }

    bool read_tag(char* to) { return control(EVP_CTRL_GCM_GET_TAG, to); }
    bool expect_tag(std::string tag) { return control(EVP_CTRL_GCM_SET_TAG, tag.data()); }

private:
    bool control(int what, char* tag)
    {
        return ::EVP_CIPHER_CTX_ctrl(context_.get(), what, static_cast<int>(tag_size), tag) == 1;
    }

    openssl_ptr<EVP_CIPHER_CTX> context_;
};

struct packed_text {
    std::unique_ptr<char[]> bytes;  // pages that are never written take no memory
    std::size_t size;
    std::string_view view() const { return {bytes.get(), size}; }
};

packed_text pack(std::string_view plain)
{
    const auto bound = ZSTD_compressBound(plain.size());
    packed_text packed{std::make_unique_for_overwrite<char[]>(bound), 0};
    packed.size = ZSTD_compress(packed.bytes.get(), bound, plain.data(), plain.size(), compression_level);
    if (ZSTD_isError(packed.size) != 0) throw std::runtime_error("a text cannot be compressed");
    return packed;
}

[[noreturn]] void refuse_sealed(std::string_view context, const char* why)
{
    throw bad_snapshot("The " + std::string(context.substr(0, 200)) + " " + why + ".");
}

// Memory is taken for the size that the frame says, so that is looked at before.
std::string unpack(std::string_view context, std::string_view packed, std::size_t most)
{
    const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
        refuse_sealed(context, "does not say how large it is");
    if (size > most) refuse_sealed(context, "is larger than it may be");
    std::string plain(static_cast<std::size_t>(size), '\0');
    if (ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size()) != plain.size())
        refuse_sealed(context, "cannot be unpacked");
    return plain;
}

}  // namespace

chunk_sealer::chunk_sealer(std::string_view key)
{
    if (key.size() != key_size) throw std::runtime_error("the key of snapshots has 32 bytes");
    id_key_ = derived_key(key, "container-mcp snapshots: ids");
    text_key_ = derived_key(key, "container-mcp snapshots: texts");
    const auto cuts = derived_key(key, "container-mcp snapshots: cuts");
    for (std::size_t at = 0; at < sizeof cut_seed_; ++at)  // the same on every machine, whatever its byte order
        cut_seed_ = cut_seed_ << 8 | static_cast<unsigned char>(cuts[at]);
}

chunk_sealer::~chunk_sealer()
{
    ::OPENSSL_cleanse(id_key_.data(), id_key_.size());
    ::OPENSSL_cleanse(text_key_.data(), text_key_.size());
}

std::string chunk_sealer::id_of(std::string_view chunk) const { return signature_of(id_key_, chunk); }

std::string chunk_sealer::seal(std::string_view context, std::string_view plain) const
{
    const auto packed = pack(plain);
    std::string sealed(head_size + packed.size + tag_size, '\0');
    sealed[0] = sealed_version;
    fill_random(std::span(octets(sealed.data() + 1), nonce_size));
    gcm_run run(text_key_, std::string_view(sealed).substr(1, nonce_size), 1);
    run.authenticate(std::string_view(sealed).substr(0, 1));
    run.authenticate(context);
    run.update(sealed.data() + head_size, packed.view());
    if (!run.finish() || !run.read_tag(sealed.data() + head_size + packed.size))
        throw std::runtime_error("a text cannot be encrypted");
    return sealed;
}

std::string chunk_sealer::open(std::string_view context, std::string_view sealed, std::size_t most) const
{
    if (sealed.size() < head_size + tag_size) refuse_sealed(context, "is cut off");
    if (sealed[0] != sealed_version) refuse_sealed(context, "has a form that this version does not read");
    if (sealed.size() > sealed_bound(most)) refuse_sealed(context, "is larger than it may be");
    const auto secret = sealed.substr(head_size, sealed.size() - head_size - tag_size);
    std::string packed(secret.size(), '\0');
    gcm_run run(text_key_, sealed.substr(1, nonce_size), 0);
    run.authenticate(sealed.substr(0, 1));
    run.authenticate(context);
    run.update(packed.data(), secret);
    if (!run.expect_tag(std::string(sealed.substr(sealed.size() - tag_size))) || !run.finish())
        refuse_sealed(context, "was changed, belongs elsewhere, or is sealed with another key");
    return unpack(context, packed, most);
}

}  // namespace cmcp::snapshots
