#!/usr/bin/env python3
"""Calls tools of the server from a shell.

tools list                    names of the tools that programs may call
tools search WORDS            the tools that the words fit
tools help NAME               a tool's arguments
tools call NAME ['{…}'|-]     calls it with JSON arguments, from standard input with -; prints the result as JSON.
                              With --progress in front of NAME, what it tells before its end goes to standard error.

Ends with 0, with 1 where the call was refused or failed, with 2 where the words make no call.
"""
import json
import sys

sys.path.insert(0, '/run/container-mcp/python')
import tools


def show_progress(kind, data):
    sys.stderr.write(data['text'] if kind in ('stdout', 'stderr') else '%s: %s\n' % (kind, json.dumps(data)))
    sys.stderr.flush()


def shown(value):
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)
    sys.stdout.write('\n')


def arguments(words):
    text = words[0] if words else '{}'
    value = json.loads(sys.stdin.read() if text == '-' else text)
    if not isinstance(value, dict):
        raise ValueError('the arguments must be a JSON object')
    return value


def run(order, words):
    if order == 'list' and not words:
        for each in tools.search(limit=10000):
            print(each.name)
    elif order == 'search' and words:
        for each in tools.search(' '.join(words)):
            print('%s\n    %s' % (each.signature, each.description.partition('\n')[0]))
    elif order == 'help' and len(words) == 1:
        value = tools
        for name in words[0].split('.', 1):
            value = getattr(value, tools._own_name(name))
        print(value.__doc__)
    elif order == 'call' and words:
        progress = show_progress if words[0] == '--progress' else None
        words = words[1:] if progress else words
        shown(tools.call(words[0], arguments(words[1:]), progress))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


try:
    sys.exit(run(*(sys.argv[1:2] or ['']), sys.argv[2:]))
except tools.ToolError as problem:
    print('tools: %s' % problem, file=sys.stderr)
    if problem.kind is None and problem.result:
        shown(problem.result)
    sys.exit(1)
except (AttributeError, ValueError, IndexError) as problem:
    print('tools: %s' % problem, file=sys.stderr)
    sys.exit(2)
