# What the cells of clients of Jupyter's protocol were and gave: In, Out, _1, _i1 and the history that clients ask for. Code
# of tools counts along, and has an empty line there.
import fnmatch

most_results = 1000                             # values in Out; the oldest give way
shown_results = {}                              # their texts

def give_names(**values):
    given_names.update(values)
    module.__dict__.update(values)

def keep_input(source):
    number = count + 1
    del inputs[number:]
    inputs.extend([''] * (number - len(inputs)))
    inputs.append(source.rstrip('\n'))
    earlier = [''] * 3 + inputs[:number]
    give_names(In=inputs, _ih=inputs, Out=results, _oh=results, _dh=visited, _i=earlier[-1], _ii=earlier[-2], _iii=earlier[-3])
    give_names(**{'_i%d' % number: inputs[number]})

def keep_result(value):
    if value is results or notebook.get('silent') or not notebook.get('store_history', True):
        return
    for oldest in list(results)[:len(results) - most_results + 1]:
        shown_results.pop(oldest, None)
        results.pop(oldest, None)
        module.__dict__.pop('_%d' % oldest, None)
    results[count] = value
    give_names(**{'_%d' % count: value})

def keep_text(text):
    if count in results:
        shown_results[count] = cut(text, 10000)

def as_python(source):
    """The cell with its magics and commands as the calls that they are."""
    try:
        ast.parse(source)
    except SyntaxError as problem:
        shell()
        try:
            return without_magics(source, problem)
        except SyntaxError:
            pass
    except (ValueError, RecursionError, MemoryError):
        pass
    return source

def entries(first, behind):
    return [(number, inputs[number]) for number in range(max(first, 1), min(behind, len(inputs))) if inputs[number]]

def newest_of_each(found):
    return sorted({text: number for number, text in found}.items(), key=lambda one: one[1])

def number_or(value, otherwise):
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise

def found_by(wish):
    kind, everything = wish.get('hist_access_type') or 'tail', entries(1, len(inputs))
    if kind == 'range':
        if wish.get('session') not in (None, 0, session_number):
            return []                           # of earlier kernels nothing is known
        first, behind = number_or(wish.get('start'), 1), number_or(wish.get('stop'), 0)
        return entries(first + len(inputs) if first < 0 else first, behind + len(inputs) if behind <= 0 else behind)
    if kind == 'search':
        pattern = wish.get('pattern') or '*'
        everything = [(number, text) for number, text in everything if fnmatch.fnmatchcase(text, str(pattern))]
        if wish.get('unique'):
            everything = [(number, text) for text, number in newest_of_each(everything)]
    most = number_or(wish.get('n'), len(everything))
    return everything[-most:] if most > 0 else []

session_number = 1

def history(wish):
    rows, room = [], most_told
    for number, text in reversed(found_by(wish)):
        text = text if wish.get('raw', True) else as_python(text)
        shown = shown_results.get(number) if wish.get('output') else None
        room -= len(json.dumps([text, shown])) + 20
        if room < 0:
            break                               # the newest count most
        rows.insert(0, [session_number, number, [text, shown] if wish.get('output') else text])
    return {'status': 'ok', 'history': rows}

def numbers_of(ranges):
    """Cells of "1 4-6 9-", both ends of a range among them."""
    chosen = []
    for each in ranges:
        found = re.fullmatch(r'(\d+)(?:(-)(\d*))?', each)
        if not found:
            raise ValueError('%%history takes numbers and ranges of this kernel\'s cells (3 5-8 9-), not %s.' % each)
        first, last = int(found.group(1)), int(found.group(3) or (len(inputs) - 1 if found.group(2) else found.group(1)))
        chosen += entries(first, last + 1)
    return chosen

def print_history(line):
    import getopt, shlex
    pairs, ranges = getopt.gnu_getopt(shlex.split(line), 'noptruyl:g:f:')
    given = dict(pairs)
    found = numbers_of(ranges) if ranges else entries(1, len(inputs))
    if '-g' in given:
        pattern = given['-g'] if re.search(r'[*?\[]', given['-g']) else '*%s*' % given['-g']
        found = [(number, text) for number, text in found if fnmatch.fnmatchcase(text, pattern)]
    if '-u' in given:
        found = [(number, text) for text, number in newest_of_each(found)]
    if '-l' in given:
        most = int(given['-l'])
        found = found[-most:] if most > 0 else []
    with open(os.path.expanduser(given['-f']), 'w', errors='backslashreplace') if '-f' in given else contextlib.nullcontext(sys.stdout) as file:
        for number, text in found:
            text = (as_python(text) if '-t' in given else text).expandtabs(4).rstrip()
            if '-n' in given:
                print('%d:' % number, end='\n' if '\n' in text else ' ', file=file)
            print('>>> ' + text.replace('\n', '\n... ') + '\n...' * ('\n' in text) if '-p' in given else text, file=file)
            if '-o' in given and number in shown_results:
                print(shown_results[number], file=file)

questions_of_clients['history_request'] = history
