"""Certificates of the tests' own, by the program openssl."""
import os
import ssl
import subprocess


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
RSA_KEY = ("-newkey", "rsa:2048", "-nodes")


class Authority:
    """Signs certificates of servers and clients; all files are in one folder."""

    def __init__(self, folder, name="authority"):
        self.folder, self.certificate, self.key = folder, folder / f"{name}.pem", folder / f"{name}.key"
        openssl("req", "-x509", *NEW_KEY, "-keyout", self.key, "-out", self.certificate, "-days", "30", "-subj", f"/CN={name}")

    def sign(self, name, subject="localhost", names="DNS:localhost,IP:127.0.0.1", kind=NEW_KEY):
        """The files of a certificate and its key."""
        certificate, key, asked, more = (self.folder / f"{name}{end}" for end in (".pem", ".key", ".csr", ".names"))
        more.write_text(f"subjectAltName={names}\n" if names else "basicConstraints=CA:FALSE\n")
        openssl("req", *kind, "-keyout", key, "-out", asked, "-subj", f"/CN={subject}")
        openssl("x509", "-req", "-in", asked, "-CA", self.certificate, "-CAkey", self.key, "-days", "30", "-out", certificate, "-extfile", more)
        return certificate, key

    def client(self, pair=None):
        """What a client of Python needs, with a certificate of its own where there is a pair."""
        context = ssl.create_default_context(cafile=self.certificate)
        if pair:
            context.load_cert_chain(*pair)
        return context


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, timeout=60, check=False)
    if done.returncode:
        raise AssertionError(f"openssl {words[0]}: {done.stderr[-300:]}")


def replace(pair, by):
    """One file after the other, as tools that renew certificates do."""
    for old, new in zip(pair, by):
        os.replace(new, old)
