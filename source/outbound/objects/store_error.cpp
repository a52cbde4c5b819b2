#include "objects/store_error.hpp"

#include <array>

namespace cmcp {

namespace {

struct advice_row {
    std::string_view code, advice;
};

constexpr std::string_view for_rights =
    "Set SNAPSHOT_STORE_KEY_ID and SNAPSHOT_STORE_SECRET to an access key that may read, write, list and delete "
    "objects "
    "of this bucket.";
constexpr std::string_view for_region =
    "The bucket is in another region or at another host: set SNAPSHOT_STORE_REGION and the host of SNAPSHOT_STORE to "
    "its own.";
constexpr std::string_view for_room = "Make room in the storage.";
constexpr std::string_view for_later = "The storage is overloaded or ailing: try again later, and look into its log.";
constexpr std::string_view for_conditions =
    "The storage knows no conditional writes (If-None-Match), which snapshots need: take one that does.";

// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html and those of MinIO.
constexpr std::array<advice_row, 15> by_code{{
    {"SignatureDoesNotMatch",
     "SNAPSHOT_STORE_SECRET is not the secret of SNAPSHOT_STORE_KEY_ID: set both to those of one access key."},
    {"InvalidAccessKeyId",
     "The storage does not know SNAPSHOT_STORE_KEY_ID: set it and SNAPSHOT_STORE_SECRET to an access key of this "
     "storage."},
    {"RequestTimeTooSkewed",
     "The clocks of this machine and of the storage differ too much: set them right, at best by NTP."},
    {"RequestExpired",
     "The clocks of this machine and of the storage differ too much: set them right, at best by NTP."},
    {"NoSuchBucket", "Create the bucket that SNAPSHOT_STORE names, or correct its name."},
    {"AccessDenied", for_rights},
    {"AllAccessDisabled", for_rights},
    {"AuthorizationHeaderMalformed", for_region},
    {"PermanentRedirect", for_region},
    {"IllegalLocationConstraintException", for_region},
    {"QuotaExceeded", for_room},
    {"XMinioAdminBucketQuotaExceeded", for_room},
    {"XMinioStorageFull", for_room},
    {"NotImplemented", for_conditions},
    {"EntityTooLarge", "Let the storage accept objects of 16 MiB."},
}};

}  // namespace

std::string_view store_advice(std::string_view code, unsigned status)
{
    for (const auto& row : by_code)
        if (row.code == code) return row.advice;
    if (status == 401 || status == 403) return for_rights;
    if (status / 100 == 3) return for_region;
    if (status == 404) return "Correct the bucket or the host of SNAPSHOT_STORE.";
    if (status == 501) return for_conditions;
    if (status == 507) return for_room;
    if (status == 429 || status >= 500) return for_later;
    return "Look into the log of the storage, and whether SNAPSHOT_STORE names one that is S3-compatible.";
}

}  // namespace cmcp
