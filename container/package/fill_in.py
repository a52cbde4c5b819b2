#!/usr/bin/env python3
"""Fills a template with the settings or the options that the built program knows: fill_in.py PROGRAM TEMPLATE OUTPUT"""
import datetime
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

NO_HOME = "/no-home"


def settings_of(program):
    clean = {"HOME": NO_HOME, "PATH": "/usr/bin:/bin"}
    text = subprocess.run([program, "config", "--json"], env=clean, cwd="/", check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def default_of(row):
    return row["value"].replace(NO_HOME, "~")


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("…", "...")
    text = text.replace(",", ",\\:")     # a place where a long list may be broken
    return "\\&" + text if text.startswith((".", "'")) else text


def for_manual(settings):
    return "\n".join(f".TP\n.B {name}\n{roff(row['description'])}.\nDefault: {roff(default_of(row)) or 'empty'}."
                     for name, row in settings.items())


def for_env_file(settings):
    def entry(name, row):
        value = default_of(row)
        shown = f"# {name}={value}" if not value.startswith("~") else f"# {name}="
        return "\n".join(textwrap.wrap(row["description"], 110, initial_indent="# ", subsequent_indent="# ")) + f"\n{shown}\n"
    return "\n".join(entry(name, row) for name, row in settings.items())


# As `--help` prints them: two spaces, the option with what it takes, and further in, the text, also on the next line.
def options_of(program):
    text = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^  (-\S+)(?: ([^\n]*?\S))??(?:  +|\n {10,})(\S.*)$", text, re.MULTILINE)


def options_for_manual(options):
    def entry(names, takes, text):
        shown = ' ", " '.join(roff(name) for name in names.split(","))
        kind = "text" if takes.startswith("TEXT") else "number"
        return f".TP\n.BR {shown}" + (f' " \\fI{kind}\\fR"' if takes else "") + f"\n{roff(text)}."
    return "\n".join(entry(*each) for each in options)


def release_date():
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    when = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc) if seconds else datetime.datetime.now()
    return when.strftime("%Y-%m-%d")


def version_of(program):
    told = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return re.search(r"\d+(\.\d+)+", told).group()


VALUES = {
    "VERSION": version_of,
    "DATE": lambda program: release_date(),
    "SETTINGS_MANUAL": lambda program: for_manual(settings_of(program)),
    "SETTINGS_ENV": lambda program: for_env_file(settings_of(program)),
    "OPTIONS_MANUAL": lambda program: options_for_manual(options_of(program)),
}


def main(program, template, output):
    text = Path(template).read_text(encoding="utf-8")
    for mark, value in VALUES.items():
        if f"@{mark}@" in text:
            text = text.replace(f"@{mark}@", value(program))
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    Path(output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
