// Certificates as container/cluster/certificates makes them, for two days.
import { execFileSync } from "node:child_process";
import path from "node:path";
import { temporary_folder } from "./server.mjs";

const openssl = (...words) => execFileSync("openssl", words, { stdio: "ignore" });
const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/// `sign(name, …more)` gives the paths {key, certificate} of a certificate for the DNS name, and for `more` ("IP:127.0.0.1");
/// a second time the same.
export function make_authority() {
    const folder = temporary_folder();
    const [key, certificate] = ["ca-key.pem", "ca.pem"].map((file) => path.join(folder, file));
    openssl("req", "-x509", ...NEW_KEY, "-days", "2", "-subj", "/CN=members", "-keyout", key, "-out", certificate);
    const signed = new Map();
    function sign(name, ...more) {
        if (signed.has(name)) return signed.get(name);
        const [own_key, request, own] = ["-key.pem", ".csr", ".pem"].map((end) => path.join(folder, name + end));
        openssl("req", "-new", ...NEW_KEY, "-subj", "/", "-addext", `subjectAltName=${[`DNS:${name}`, ...more].join(",")}`,
                "-addext", "extendedKeyUsage=serverAuth,clientAuth", "-keyout", own_key, "-out", request);
        openssl("x509", "-req", "-in", request, "-CA", certificate, "-CAkey", key, "-CAcreateserial", "-copy_extensions", "copy", "-days", "2", "-out", own);
        signed.set(name, { key: own_key, certificate: own });
        return signed.get(name);
    }
    return { certificate, sign };
}
