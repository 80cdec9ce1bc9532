#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/hmac.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <openssl/kdf.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/ec.h>
#include <openssl/rsa.h>
#include <openssl/srtp.h>
#include <openssl/params.h>
#include <openssl/crypto.h>

// Macros over SSL_ctrl, SSL_OP_BIT values and variadic functions, which Swift does not import.
static inline EVP_PKEY *ossl_generate_p256(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *ossl_generate_rsa(unsigned int bits) { return EVP_RSA_gen(bits); }
static inline long ossl_set_mtu(SSL *ssl, long mtu) { return SSL_set_mtu(ssl, mtu); }
static inline long ossl_handle_timeout(SSL *ssl) { return DTLSv1_handle_timeout(ssl); }
static inline long ossl_set_min_version(SSL_CTX *context, int version) { return SSL_CTX_set_min_proto_version(context, version); }
static inline long ossl_set_max_version(SSL_CTX *context, int version) { return SSL_CTX_set_max_proto_version(context, version); }
static inline long ossl_set_groups(SSL_CTX *context, const char *list) { return SSL_CTX_set1_groups_list(context, (char *)list); }
static inline long ossl_disable_session_cache(SSL_CTX *context) { return SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); }
static inline void ossl_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void ossl_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }
static const uint64_t ossl_options_dtls =
    SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE;

// HKDF with SHA-256 into `key`. Returns 1 for success.
static inline int ossl_hkdf(EVP_KDF_CTX *context, const unsigned char *secret, size_t secret_count, const unsigned char *salt, size_t salt_count,
                            const unsigned char *info, size_t info_count, unsigned char *key, size_t count) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, "SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, secret_count),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_count),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_count),
        OSSL_PARAM_construct_end(),
    };
    return EVP_KDF_derive(context, key, count, parameters);
}

// Adds a name of a type (GEN_DNS, GEN_IPADD) to a list. Returns 1 for success.
static inline int ossl_add_name(GENERAL_NAMES *list, int type, const unsigned char *bytes, int count) {
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *value = type == GEN_DNS ? ASN1_IA5STRING_new() : ASN1_OCTET_STRING_new();
    if (name && value && ASN1_STRING_set(value, bytes, count) == 1) {
        GENERAL_NAME_set0_value(name, type, value);
        if (sk_GENERAL_NAME_push(list, name) > 0) return 1;
        GENERAL_NAME_free(name);
        return 0;
    }
    ASN1_STRING_free(value);
    GENERAL_NAME_free(name);
    return 0;
}
