# What a name of the code is: for clients that ask, and for the lines name?, name?? and ?name.

def name_at(code, at):
    """The dotted name at the cursor, or that of the call around it."""
    word = dotted.search(code[max(0, at - longest_name):at])
    if word or re.match(r'\w', code[at:]):
        return (word.group() if word else '') + re.match(r'\w*', code[at:]).group()
    depth = 0
    for place in range(at - 1, -1, -1):
        depth += {')': 1, '(': -1}.get(code[place], 0)
        if depth < 0:
            word = dotted.search(code[max(0, place - longest_name):place])
            return word.group() if word else ''
    return ''

class Missing(Exception):
    """There is nothing of this name."""

def value_named(name):
    if name.startswith('%'):
        shell()
        table = cell_magics if name.startswith('%%') else line_magics
        if name.lstrip('%') in table:
            return table[name.lstrip('%')]
        raise Missing
    try:
        return eval(name, module.__dict__)
    except Exception as problem:
        raise Missing from problem

def or_none(work, *values):
    try:
        return work(*values)
    except Exception:
        return None

def description(name, detail):
    """Lines about the value of the name, as IPython's; with its source where `detail` is wished and there is one."""
    import inspect
    value, rows = value_named(name), []
    signature = or_none(inspect.signature, value) if callable(value) else None
    if signature is not None:
        rows.append(('Init signature' if isinstance(value, type) else 'Signature', '%s%s' % (name.lstrip('%'), signature)))
    is_plain = not callable(value) and not isinstance(value, types.ModuleType)
    rows += [('Type', type(value).__name__)] + [('String form', cut(safe_repr(value), 1000))] * (is_plain or signature is None)
    length = or_none(len, value) if is_plain else None
    if length is not None:
        rows.append(('Length', str(length)))
    file = or_none(inspect.getfile, value)
    if file:
        rows.append(('File', file))
    source = or_none(inspect.getsource, value) if detail else None
    text = or_none(inspect.getdoc, value)
    rows.append(('Docstring', cut(text if isinstance(text, str) else '<no docstring>', 20000)))
    if isinstance(source, str):
        rows.append(('Source', cut(source, 50000)))
    return '\n'.join(label + ':' + ('\n' if '\n' in said else ' ' * max(1, 12 - len(label))) + said for label, said in rows)

def names_like_pattern(pattern):
    names = {*module.__dict__, *dir(builtins)}
    return '\n'.join(name for name in sorted(names) if fnmatch.fnmatchcase(name, pattern) and (not name.startswith('_') or pattern.startswith('_')))

def explain(name, detail):
    """Shows in the client's pager, or prints, what the name is."""
    try:
        text = names_like_pattern(name) if '*' in name else description(name, detail)
    except Missing:
        return print('Object `%s` not found.' % name)
    show_in_pager(text)

def code_and_cursor(question):
    """The code of the question, and the cursor in it, in code points."""
    code = question.get('code')
    code = code if isinstance(code, str) else ''
    return code, min(max(number_or(question.get('cursor_pos'), len(code)), 0), len(code))

def inspect_name(question):
    reply = {'status': 'ok', 'found': False, 'data': {}, 'metadata': {}}
    name = name_at(*code_and_cursor(question))
    if not name:
        return reply
    try:
        return {**reply, 'found': True, 'data': {'text/plain': description(name, question.get('detail_level'))}}
    except Missing:
        return reply

questions_of_clients['inspect_request'] = inspect_name
