"""Codings in which a host repeats what it was sent: name -> function of a text, which gives bytes."""
import base64
import json
import urllib.parse


def quoted(text):
    return urllib.parse.quote(text, safe="")


def each(form):
    return lambda text: "".join(form(ord(c)) for c in text)


def pairs(text):
    return ":".join(f"{byte:02x}" for byte in text.encode())


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


def indented(text):
    digits = base64_of(text)
    return "key: |\n" + "".join(f"    {digits[at:at + 16]}\n" for at in range(0, len(digits), 16))


def mixed(text):
    return "".join(digit.upper() if at % 3 else digit for at, digit in enumerate(text.encode().hex()))


TEXTS = {
    "percent-twice": lambda text: quoted(quoted(text)),
    "percent-thrice": lambda text: quoted(quoted(quoted(text))),
    "percent-all-twice": lambda text: quoted(each(lambda c: f"%{c:02x}")(text)),
    "percent-u": each(lambda c: f"%u{c:04x}"),
    "json-in-json": lambda text: json.dumps(json.dumps({"key": text})),
    "json-slashes-twice": lambda text: text.replace("/", "\\/").replace("\\", "\\\\"),
    "json-numbers-twice": lambda text: each(lambda c: f"\\u{c:04x}")(text).replace("\\", "\\\\"),
    "x-escapes": each(lambda c: f"\\x{c:02x}"),
    "octal": each(lambda c: f"\\{c:03o}"),
    "html-zeros": each(lambda c: f"&#{c:04d};"),
    "html-open": each(lambda c: f"&#{c}"),
    "html-some-open": each(lambda c: chr(c) if chr(c).isalnum() else f"&#{c}"),
    "html-hex": each(lambda c: f"&#X{c:X};"),
    "html-names": lambda text: text.replace("+", "&plus;").replace("/", "&sol;").replace("-", "&#45;"),
    "html-twice": lambda text: each(lambda c: f"&#{c};")(text).replace("&", "&amp;"),
    "html-of-percent": lambda text: quoted(text).replace("%", "&#37;"),
    "percent-of-json": lambda text: quoted(json.dumps(text).replace("/", "\\/")),
    "percent-of-base64": lambda text: quoted(base64_of(text)),
    "base64-of-percent": lambda text: base64_of("next=" + quoted(text)),
    "base64-of-base64": lambda text: base64_of("key:" + base64_of(text)),
    "base64-of-json": lambda text: base64_of(json.dumps({"key": text})),
    "base64-of-hex": lambda text: base64_of(text.encode().hex()),
    "base64-indented": indented,
    "base64-for-urls": lambda text: base64.urlsafe_b64encode(b"?>" + text.encode()).decode().rstrip("="),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base32-lower": lambda text: base64.b32encode(b"x" + text.encode()).decode().lower().rstrip("="),
    "hex-mixed": mixed,
    "hex-pairs": pairs,
    "hex-of-base64": lambda text: base64_of(text).encode().hex(),
    "upper-case": str.upper,
    "lower-case": str.lower,
}
CODINGS = {name: lambda text, form=form: form(text).encode() for name, form in TEXTS.items()} | {
    "utf32": lambda text: text.encode("utf-32-le"),
    "utf32be": lambda text: text.encode("utf-32-be"),
    "utf16-of-percent": lambda text: quoted(text).encode("utf-16-be"),
    "base64-of-utf16": lambda text: base64.b64encode(text.encode("utf-16-le")),
}
