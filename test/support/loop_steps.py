"""Where a step of a server's loop was, from the record that CMCP_STEP_RECORD names."""
import re
import subprocess

NOWHERE = "(it did not compute when it was looked at)"


def functions(program, step, most=6):
    """The project's own functions from the innermost on, without their arguments."""
    if not step["at"]:
        return NOWHERE
    shown = subprocess.run(["addr2line", "-Cfie", program, *step["at"].split()], capture_output=True, text=True, check=False).stdout
    names = [re.sub(r"\(.*", "", line.replace("(anonymous namespace)::", "")) for line in shown.splitlines()[::2]]
    own = [name for name in dict.fromkeys(names) if "cmcp::" in name and "loop_step" not in name]
    return " < ".join((own or names)[:most])
