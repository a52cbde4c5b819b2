// Settings: several servers, and sandboxes in object storage. What a row means: config/setting_types.hpp.

TOPIC("Several servers as one");
SETTING("CLUSTER_ETCD", words, cluster_etcd, "", etcd_urls,
        "members of the cluster's etcd: https://host:2379,…; empty: no cluster");
SETTING("CLUSTER_ETCD_USER", std::string, cluster_etcd_user, "", plain_text(200),
        "user of etcd, where it asks for one beside the certificate");
SETTING("CLUSTER_ETCD_PASSWORD", std::string, cluster_etcd_password, "", secret(plain_text(400)),
        "password of this user");
SETTING("CLUSTER_PREFIX", std::string, cluster_prefix, "/cmcp/default/", plain_text(200),
        "prefix of this cluster's keys in etcd; different for each cluster that shares the etcd");
SETTING("CLUSTER_LISTEN", std::string, cluster_listen, "", member_address,
        "host:port to listen on for the other servers");
SETTING("CLUSTER_ADVERTISE", std::string, cluster_advertise, "", member_address,
        "host:port where the other servers reach this one; empty: as CLUSTER_LISTEN");
SETTING("CLUSTER_LABELS", words, cluster_labels, "", label_list,
        "labels of this server, as gpu=a100,zone=b, for create_sandbox with `labels`");
SETTING("CLUSTER_LEASE", milliseconds, cluster_lease, "4", seconds(2s, 60s),
        "lease of a server's registration in etcd, whole seconds; when it expires, others may take over its sandboxes");
SETTING("CLUSTER_CERT", path, cluster_cert, "", file_path,
        "PEM file with the certificate that this server shows to members; its DNS name is SANDBOX_NODE");
SETTING("CLUSTER_KEY", path, cluster_key, "", file_path, "PEM file with its private key, without a password");
SETTING("CLUSTER_CA", path, cluster_ca, "", file_path,
        "PEM file with the authority that signs the certificates of members, and no others");

TOPIC("Sandboxes and packages");
SETTING("SANDBOX_NODE", std::string, sandbox_node, "", plain_text(32),
        "this machine's name in handles; empty: its host name at the first start, kept in SANDBOX_ROOT/node");

TOPIC("Snapshots of sandboxes");
SETTING("SNAPSHOT_STORE", std::string, snapshot_store, "", store_url,
        "bucket of an S3-compatible object storage that keeps sandboxes, as https://host:port/bucket/prefix, "
        "port and prefix where there are any; http:// speaks plainly; empty: none");
SETTING("SNAPSHOT_STORE_REGION", std::string, snapshot_store_region, "us-east-1", region_name,
        "region of the bucket, as requests to it are signed for");
SETTING("SNAPSHOT_STORE_KEY_ID", std::string, snapshot_store_key_id, "", plain_text(200),
        "id of this server's access key at the storage");
SETTING("SNAPSHOT_STORE_SECRET", std::string, snapshot_store_secret, "", secret(plain_text(400)),
        "secret of this access key");
SETTING("SNAPSHOT_STORE_CA", path, snapshot_store_ca, "", file_path,
        "certificates that are trusted at the storage beside the system's (PEM)");
SETTING("SANDBOX_SNAPSHOT_EVERY", milliseconds, sandbox_snapshot_every, "300", seconds(1s, 365 * day),
        "seconds after which a sandbox in use is saved again; an idle one is saved at once");
SETTING(
    "SNAPSHOT_KEY", std::string, snapshot_key, "", secret(parser<std::string>(encryption_key)),
    "64 hexadecimal digits that snapshots are encrypted with before they leave the server, the same on all servers of "
    "a cluster; without it they cannot be decrypted: `openssl rand -hex 32` makes one");
