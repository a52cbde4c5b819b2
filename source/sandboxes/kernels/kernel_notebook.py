# Cells of a client that speaks Jupyter's protocol: what they show goes to the server as it comes, in its order with what
# is printed, and what the client asks about the names of the kernel. Compiled with the first such cell or question.
import codeop, re, rlcompleter

most_told, most_told_late = 8 << 20, 1 << 20    # bytes of a display, of one behind the end of its cell
telling, in_telling = threading.RLock(), False

# Only this text stands in both streams, so that the server knows what was printed before the event.
def tell(kind, content):
    global last_written, in_telling
    if os.getpid() != owner:                    # whose lock may be held by a thread that is not here
        return
    main = threading.current_thread() is threading.main_thread()
    with telling:
        if in_telling:
            return                              # of a finalizer within this
        in_telling = True
        try:
            if notebook is None:
                return tell_late(kind, content)
            data = framed({'id': current_job['id'], 'event': kind, 'content': content})
            with undisturbed() if main else contextlib.nullcontext():
                mark(current_job['mark'][:-1] + '\x1d')
                send(data)
        finally:
            last_written, in_telling = None, False

# What threads and tasks show when their cell has ended answers no call.
def tell_late(kind, content):
    data = json_bytes({'event': kind, 'content': content})
    if len(data) > most_told_late:
        return print_error('A display is left out: it has %d bytes, and at most %d are shown once its cell has ended.\n' % (len(data), most_told_late))
    with link_alone() as alone:
        if kind and alone:
            send(struct.pack('>I', 0x40000000 | len(data)) + data)

def name_of_type(kind):
    return kind.__qualname__ if kind.__module__ == 'builtins' else '%s.%s' % (kind.__module__, kind.__qualname__)

def text_of_function(value):
    import inspect
    try:
        module = value.__module__ if value.__module__ not in ('builtins', None) else ''
        return '<function %s%s%s>' % (module and module + '.', value.__qualname__, inspect.signature(value))
    except (AttributeError, TypeError, ValueError):
        return safe_repr(value)

def parts_of(value):
    """How a container begins and ends, and its members: what stands before each, and it."""
    begin, end = {list: ('[', ']'), tuple: ('(', ')'), dict: ('{', '}'), set: ('{', '}'), frozenset: ('frozenset({', '})')}[type(value)]
    if type(value) is dict:
        return begin, [(notebook_text(key, flat) + ': ', each) for key, each in list(value.items())[:most_members]], end
    members = list(value)
    if isinstance(value, (set, frozenset)):
        try:
            members.sort()
        except Exception:
            pass
    return begin, [('', each) for each in members[:most_members]], ',)' if type(value) is tuple and len(value) == 1 else end

flat, widest, most_members = -10 ** 9, 79, 1000

def notebook_text(value, column=0, indent=0, behind=0, around=()):
    """The value's text as notebooks show it: a container that is too wide for the line has a line for each member."""
    if isinstance(value, type):
        return name_of_type(value)
    if type(value) in (types.FunctionType, types.BuiltinFunctionType):
        return text_of_function(value)
    if type(value) not in (list, tuple, dict, set, frozenset) or not value:
        return safe_repr(value)
    if id(value) in around or len(around) > 50:
        return {dict: '{...}', tuple: '(...)'}.get(type(value), '[...]')
    begin, members, end = parts_of(value)
    if len(value) > most_members:
        end = ', ...' + end if column == flat else ',\n%s...%s' % (' ' * (indent + len(begin)), end)
    around += (id(value),)
    if column == flat:
        return begin + ', '.join(prefix + notebook_text(each, flat, around=around) for prefix, each in members) + end
    whole = notebook_text(value, flat, around=around[:-1])
    if column + len(whole) + behind <= widest:
        return whole
    lines, place, indent = [], column + len(begin), indent + len(begin)
    for number, (prefix, each) in enumerate(members, 1):
        lines.append(prefix + notebook_text(each, place + len(prefix), indent, 1 if number < len(members) else len(end) + behind, around))
        place = indent
    return begin + (',\n' + ' ' * indent).join(lines) + end

# A form that is no JSON, or too large, is left out.
def bundle(made, plain):
    most = most_told_late // 2 if notebook is None else most_told
    shown, room = {'text/plain': plain}, most
    for kind, data in made.items():
        if kind == 'text/plain':
            continue
        if isinstance(data, (bytes, bytearray, memoryview)):
            data = base64.b64encode(data).decode()
        try:
            size = len(json_bytes(data))
        except (TypeError, ValueError) as problem:
            print('A display has no %s: %s' % (kind, problem), file=sys.stderr)
            continue
        if size > room:
            print('A display has no %s: it has %d bytes, and at most %d are shown%s.' % (kind, size, most, ' once its cell has ended' if notebook is None else ''), file=sys.stderr)
            continue
        room -= size
        shown[str(kind)] = data
    return shown

def plain_in_notebook(value, made):
    given = made.get('text/plain')
    return given if isinstance(given, str) else cut(notebook_text(value), 100000)

def show_in_notebook(made, plain, metadata=None, display_id=None, update=False):
    content = {'data': bundle(made, plain), 'metadata': metadata or {}, 'transient': {'display_id': display_id} if display_id else {}}
    if captured is None:
        tell('update_display_data' if update else 'display_data', content)
    else:
        captured.append(content)

def show_result(value, made):
    plain = plain_in_notebook(value, made)
    keep_text(plain)
    if not notebook.get('silent'):
        tell('execute_result', {'execution_count': count, 'data': bundle(made, plain), 'metadata': {}})

# All open figures, saved or not, as notebooks show them.
def figures_in_notebook(plt):
    for number in plt.get_fignums():
        figure = plt.figure(number)
        show_in_notebook(forms_of(figure), safe_repr(figure))
    if close_figures:
        plt.close('all')

def error_of(problem):
    report = traceback.TracebackException(type(problem), problem, problem.__traceback__)
    without_own_frames(report, problem, sys.maxsize)
    try:
        value = str.__str__(str(problem))
    except Exception:
        value = safe_repr(problem)
    return {'ename': type(problem).__name__, 'evalue': cut(value, 10000), 'traceback': cut(''.join(report.format()), 100000).rstrip('\n').split('\n')}

def expressions(wanted):
    answers = {}
    for name, source in wanted.items():
        try:
            value = eval(source, module.__dict__)
            answers[name] = {'status': 'ok', 'data': bundle(forms_of(value), cut(notebook_text(value), 100000)), 'metadata': {}}
        except Exception as problem:
            answers[name] = {'status': 'error', **error_of(problem)}
    return answers

def begin_notebook(job, earlier):
    global notebook
    notebook = job['notebook']
    if earlier:
        tell('earlier', earlier)
    if fresh_notebook.acquire(blocking=False):
        begin_in_place()
    if not notebook.get('silent'):
        if notebook.get('store_history', True):
            keep_input(job['code'])
        tell('execute_input', {'code': job['code'], 'execution_count': count + 1})

fresh_notebook = threading.Semaphore(1)

# A notebook's kernel starts in the folder of its path, or the nearest one above that is there.
def begin_in_place():
    os.environ.update(notebook.get('environment') or {})
    path = folder = os.path.normpath(os.path.join(workspace, notebook.get('path') or '.'))
    if notebook.get('makes_path'):
        os.makedirs(path, exist_ok=True)
    while not os.path.isdir(folder) and len(folder) > len(workspace):
        folder = os.path.dirname(folder)
    if folder != path:
        os.environ['JPY_SESSION_NAME'] = path   # by which a program finds its notebook
    if folder != os.path.normpath(workspace):
        os.chdir(folder)
    visited[:] = [os.getcwd()]

@contextlib.contextmanager
def variables_of_cell(given):
    """The environment has these variables for as long as the cell runs."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)

def run_cell(job, earlier):
    global notebook, behind_cell, count, captured
    before, captured, reply = count, None, {}
    try:
        try:
            begin_work()
            displays.clear()
            payload.clear()
            look_for_packages()
            begin_notebook(job, earlier)
            try:
                heed_interrupt()
                with variables_of_cell(notebook.get('variables') or {}):
                    run_source(with_call(job['code']))
            except SystemExit:
                if not leaves():
                    raise
            finally:
                reply['execution_count'] = count
                finish_figures()
            reply['user_expressions'] = expressions(notebook.get('user_expressions') or {})
        finally:
            end_work()
    except BaseException as problem:
        captured = None
        reply.setdefault('execution_count', count)
        reply['error'] = error_of(problem)
        tell('error', reply['error'])
    if payload:
        reply['payload'] = payload[:]
    if notebook.get('silent') or not notebook.get('store_history', True):
        count = before
    with telling:
        notebook, behind_cell = None, True
    return {'ok': 'error' not in reply, 'exit': 1 if 'error' in reply else 0, 'state': reply}

# The names that a client completes or asks about.
longest_name = 2000                             # a search for names looks no farther back
dotted = re.compile(r'[^\W\d][\w.]*$')

def names_like(text):
    completer, names = rlcompleter.Completer(module.__dict__), []
    completer.complete(text, 0)
    for name in getattr(completer, 'matches', [])[:1000]:
        name = name.rstrip('() :')
        if name not in names:
            names.append(name)
    return names

def keys_like(name, quote, begin):
    try:
        keys = [key for key in list(eval(name, module.__dict__).keys())[:1000] if isinstance(key, str) and key.startswith(begin)]
    except Exception:
        return []
    return [key for key in keys if quote not in key]

def files_like(begin):
    folder, _, name = begin.rpartition('/')
    try:
        entries = sorted(entry.name + '/' * entry.is_dir() for entry in os.scandir(os.path.expanduser(folder or ('/' if begin[:1] == '/' else '.'))))
    except OSError:
        return []
    return [(folder + '/' if '/' in begin else '') + each for each in entries if each.startswith(name) and (name or not each.startswith('.'))]

def modules_like(begin):
    import pkgutil
    return sorted({each.name for each in pkgutil.iter_modules() if each.name.startswith(begin)} | {name for name in sys.builtin_module_names if name.startswith(begin)})

def completions(before):
    """The matches, and the text before the cursor that they stand for."""
    line = before.rpartition('\n')[2][-longest_name:]
    key = re.search(r'([^\W\d][\w.]*)\[(["\'])([^"\']*)$', line)
    if key and (keys := keys_like(*key.groups())):
        return keys, key.group(3)
    wished = re.match(r'\s*(?:import|from)\s+(?:[\w.]+\s*,\s*)*(\w*)$', line)
    if wished:
        return modules_like(wished.group(1)), wished.group(1)
    magic = re.match(r'\s*(%{1,2}\w*)$', line)
    if magic:
        shell()
        magics = ['%%' + name for name in cell_magics] + ([] if magic.group(1).startswith('%%') else ['%' + name for name in line_magics])
        return sorted(name for name in magics if name.startswith(magic.group(1))), magic.group(1)
    quoted = re.search(r'["\']([^"\']*)$', line)
    if quoted and len(re.findall(r'["\']', line)) % 2:
        return files_like(quoted.group(1)), quoted.group(1)
    word = dotted.search(line)
    return (names_like(word.group()), word.group()) if word else ([], '')

def complete(question):
    code, at = code_and_cursor(question)
    matches, text = completions(code[:at])
    return {'status': 'ok', 'matches': matches, 'cursor_start': at - len(text), 'cursor_end': at, 'metadata': {}}

def is_complete(question):
    code, _ = code_and_cursor(question)
    last = code.rstrip(' ').rpartition('\n')[2]
    indent = ' ' * (len(last) - len(last.lstrip()) + 4 * last.rstrip().endswith(':'))
    try:
        parsed(code, '<code>')
    except (SyntaxError, ValueError, OverflowError):
        try:
            goes_on = codeop.compile_command(code, '<code>', 'exec') is None
        except (SyntaxError, ValueError, OverflowError):
            goes_on = False
        return {'status': 'incomplete', 'indent': indent} if goes_on else {'status': 'invalid'}
    return {'status': 'incomplete', 'indent': indent} if last[:1] in (' ', '\t') and last.strip() else {'status': 'complete'}

def kernel_info(question):
    version = '.'.join(map(str, sys.version_info[:3]))
    return {'status': 'ok', 'protocol_version': '5.3', 'implementation': 'container-mcp', 'implementation_version': interface_version,
            'banner': 'Python %s in a sandbox of Container-MCP' % version, 'debugger': False, 'supported_features': [],
            'help_links': [{'text': 'Python Reference', 'url': 'https://docs.python.org/%d.%d' % sys.version_info[:2]},
                           {'text': 'Jupyter Reference', 'url': 'https://docs.jupyter.org'}],
            'language_info': {'name': 'python', 'version': version, 'mimetype': 'text/x-python', 'file_extension': '.py', 'pygments_lexer': 'ipython3',
                              'codemirror_mode': {'name': 'ipython', 'version': sys.version_info[0]}, 'nbconvert_exporter': 'python'}}

questions_of_clients = {'complete_request': complete, 'is_complete_request': is_complete, 'kernel_info_request': kernel_info}
