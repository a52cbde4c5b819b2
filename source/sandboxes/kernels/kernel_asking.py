# What a cell asks of the client that sent it: input(), a page to show, the text of the next cell, to leave.

def ask_person(prompt, hidden):
    """What the person before the notebook types."""
    shell()
    tell('', {})                                # what was printed stands before the question
    answer = ask_server({'input': str(prompt), 'password': hidden})
    if 'value' not in answer:
        raise EOFError(answer.get('problem', 'Nobody answered.'))
    return answer['value']

# The client reads one of each kind.
def ask_client(**wish):
    payload[:] = [one for one in payload if one['source'] != wish['source']] + [wish]

def show_in_pager(text):
    if notebook is None:
        print(text)
    else:
        ask_client(source='page', data={'text/plain': text}, start=0)

class Leave:
    """Asks the client to leave. The kernel and its variables stay until the client ends it."""
    def __init__(self, name):
        self.name, self.before = name, getattr(builtins, name, sys.exit)

    def __repr__(self):
        return 'Use %s() to leave.' % self.name

    def __call__(self, code=None, keep_kernel=False):
        if notebook is None:
            return self.before(code)
        ask_client(source='ask_exit', keepkernel=bool(keep_kernel))
        raise SystemExit(code)

def with_call(source):
    """The cell "exit" leaves, as exit() does."""
    word = source.strip()
    return word + '()' if word in ('exit', 'quit') and word not in module.__dict__ else source

def leaves():
    return any(one['source'] == 'ask_exit' for one in payload)

for name in ('exit', 'quit'):
    setattr(builtins, name, Leave(name))
del name
