# Magics and commands of notebooks, compiled when code first has one. A line that is no Python is looked at where the
# compiler stops at it, so that what looks like a magic within text or an expression stays what it is.
import re, shlex, subprocess

class Lines(list):
    """The lines that a command printed."""
    l = property(lambda self: list(self))
    n = property('\n'.join)
    s = property(' '.join)

def expanded(line, names):
    def value(found):
        word = found.group(1) or found.group(2)
        if word is None:
            return found.group()[0]             # {{ and }} and $$
        try:
            return str(eval(word, names))
        except Exception:
            return found.group()
    return re.sub(r'\{\{|\}\}|\$\$|\{([^{}\n]+)\}|\$([A-Za-z_]\w*)', value, line)

def command_program():
    return next((path for path in ('/bin/bash', '/usr/bin/bash') if os.path.exists(path)), '/bin/sh')

def finished(process, *data):
    try:
        got = process.communicate(*data)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    module.__dict__['_exit_code'] = process.returncode
    return got

def begun(command, **options):
    sys.stdout.flush()
    sys.stderr.flush()
    return subprocess.Popen(command, start_new_session=True, **options)

def run_command(line):
    line = expanded(line, module.__dict__)
    wanted, _, after = re.match(r'(.*?)(&&|;|$)(.*)', line, re.S).group(1, 2, 3)
    if packages_wanted(wanted):
        install_line(wanted)
        return run_command(after) if after.strip() else None
    finished(begun([command_program(), '-c', line], stdin=subprocess.DEVNULL))

def command_output(line):
    line = expanded(line, module.__dict__)
    process = begun([command_program(), '-c', line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return Lines(finished(process)[0].decode('utf-8', 'replace').splitlines())

def script(program, line, body):
    finished(begun([*program, *shlex.split(line)], stdin=subprocess.PIPE), body.encode())
    if module.__dict__['_exit_code']:
        raise subprocess.CalledProcessError(module.__dict__['_exit_code'], ' '.join(program))

def packages_wanted(line):
    return re.match(r'\s*(?:\S*python3?\s+-m\s+)?pip3?\s+install\b', line)

# Where its output should go does not matter: pip install x 2>&1 | tail -1.
def words_of_command(line):
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word.strip('|&;<>()') == '':
            return words[:-1] if word.startswith('>') and words[-1:] in (['1'], ['2']) else words
        words.append(word)
    return words

# The kernel has no network: the server installs, by its own rules.
def install_line(line):
    words = words_of_command(line)
    names, words, unknown = [], words[words.index('install') + 1:], []
    while words:
        word = words.pop(0)
        if word in ('-r', '--requirement') and words:
            with open(words.pop(0)) as file:
                names += [line.split('#')[0].strip() for line in file if line.split('#')[0].strip()]
        elif word in ('-U', '--upgrade'):
            print('--upgrade is left out: name the version that you want (name==1.2).')
        elif word.startswith('-') and word not in ('-q', '-qq', '-qqq', '--quiet', '--user', '-y', '--no-input', '--break-system-packages',
                                                   '--no-cache-dir', '--disable-pip-version-check', '--root-user-action=ignore', '--progress-bar=off'):
            unknown.append(word)
        elif not word.startswith('-'):
            names.append(word)
    if unknown:
        raise ValueError('%%pip install takes package names, versions and -r FILE here, not %s.' % ' '.join(unknown))
    if not names:
        raise ValueError('%pip install wants names of packages: %pip install six')
    answer = ask_server({'install': names})
    if answer.get('output'):
        print(answer['output'].rstrip())
    if answer.get('problem'):
        raise RuntimeError(answer['problem'])
    print('Installed: ' + ', '.join(answer['installed']) if answer.get('installed') else 'All of them are installed already.')
    look_for_packages()

questions = 0

def ask_server(question):
    global questions
    questions += 1
    say({'id': current_job['id'], 'ask': question, 'number': questions})
    while True:                                 # an earlier question may have been given up
        reply = replies.get()
        if reply['number'] == questions:
            return reply['answer']

def seconds_text(seconds):
    for unit, factor in (('s', 1), ('ms', 1e3), ('µs', 1e6)):
        if seconds * factor >= 1:
            return '%.3g %s' % (seconds * factor, unit)
    return '%.3g ns' % (seconds * 1e9)

def evaluated(source):
    """The value of the last expression of code within the cell."""
    tree = parsed(source, '<magic>')
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, '<magic>', 'exec', dont_inherit=True), module.__dict__)
    return None if last is None else eval(compile(last, '<magic>', 'eval', dont_inherit=True), module.__dict__)

def tell_times(wall, used):
    print('CPU times: total: %s' % seconds_text(processor_time() - used))
    print('Wall time: %s' % seconds_text(time.perf_counter() - wall))

def magic_time(line, body=None):
    """Run a statement (%time) or a cell (%%time) and print how long it takes."""
    begun = time.perf_counter(), processor_time()
    try:
        return evaluated(line if body is None else body)
    finally:
        tell_times(*begun)

def magic_timeit(line, body=None):
    """Measure a statement by many runs: %timeit [-n N] [-r R] [-q] statement."""
    import timeit, statistics
    loops, rounds, quiet = 0, 7, False
    while (found := re.match(r'\s*-(?:([nr])\s*(\d+)|(q|o|c|t|p\s*\d+))(?:\s+|$)', line)):
        loops = int(found.group(2)) if found.group(1) == 'n' else loops
        rounds = int(found.group(2)) if found.group(1) == 'r' else rounds
        quiet = quiet or found.group(3) == 'q'
        line = line[found.end():]
    code, first = (line, 'pass') if body is None else (body, line or 'pass')
    timer = timeit.Timer(code, first, globals=module.__dict__)
    loops = loops or timer.autorange()[0]
    times = [each / loops for each in timer.repeat(rounds, loops)]
    if not quiet:
        print('%s ± %s per loop (mean ± std. dev. of %d runs, %s loop%s each)' % (
            seconds_text(statistics.mean(times)), seconds_text(statistics.pstdev(times)), rounds, format(loops, ','), 's' * (loops != 1)))

def magic_cd(line, body=None):
    """Change the working folder; %cd - goes back to the one before."""
    wanted, before = expanded(line.strip(), module.__dict__) or workspace, os.getcwd()
    if wanted == '-':
        wanted = next((folder for folder in reversed(visited) if folder != before), None)
        if wanted is None:
            raise ValueError('%cd - goes back, and no other folder was the working folder before.')
    os.chdir(os.path.expanduser(wanted))
    visited[:] = [*visited, before, os.getcwd()][-100:] if visited[-1:] != [before] else [*visited, os.getcwd()][-100:]
    print(os.getcwd())

def magic_history(line, body=None):
    """Print the cells so far: %history [-n numbers] [-o results] [-p prompts] [-u each once] [-l LAST] [-g PATTERN] [-f FILE] [RANGE]."""
    load_later('kernel_notebook')
    print_history(line)

def magic_load(line, body=None):
    """Put a file's text in the place of this cell."""
    with open(os.path.expanduser(expanded(line.strip(), module.__dict__))) as file:
        the_shell.set_next_input('# %%load %s\n%s' % (line.strip(), file.read()), True)

def magic_pinfo(line, body=None):
    """What a name is, as name? says it."""
    the_shell.explain(line.strip())

def magic_pinfo2(line, body=None):
    """What a name is and its source, as name?? says it."""
    the_shell.explain(line.strip(), 1)

def magic_env(line, body=None):
    """List environment variables, show one, or set one: %env NAME=value."""
    name, given, value = line.strip().partition('=' if '=' in line else ' ')
    if not name:
        return dict(os.environ)
    if not given:
        return os.environ[name]
    os.environ[name.strip()] = expanded(value.strip(), module.__dict__)
    print('env: %s=%s' % (name.strip(), os.environ[name.strip()]))

def own_names(line=''):
    names = module.__dict__
    return [name for name in sorted(names) if not name.startswith('_') and name not in given_names and not isinstance(names[name], types.ModuleType)
            and (not line.strip() or type(names[name]).__name__ in line.split())]

def magic_who(line, body=None):
    """Names of the variables; types may follow."""
    print('\t'.join(own_names(line)) or 'Interactive namespace is empty.')

def magic_who_ls(line, body=None):
    """The same as a list."""
    return own_names(line)

def magic_whos(line, body=None):
    """Names, types and values of the variables."""
    rows = [(name, type(module.__dict__[name]).__name__, ' '.join(safe_repr(module.__dict__[name]).split())[:60]) for name in own_names(line)]
    for row in [('Variable', 'Type', 'Data/Info')] + rows:
        print('%-16s %-16s %s' % row)

def magic_pip(line, body=None):
    """pip; packages are installed by the server."""
    words = line.split()
    if words[:1] == ['install']:
        return install_line(expanded('pip ' + line, module.__dict__))
    finished(begun([sys.executable, '-m', 'pip', *shlex.split(line)], stdin=subprocess.DEVNULL))

def magic_run(line, body=None):
    """Run a file in the kernel's namespace."""
    import runpy
    words = shlex.split(expanded(line, module.__dict__))
    kept, sys.argv = sys.argv, words
    try:
        module.__dict__.update((name, value) for name, value in runpy.run_path(words[0], run_name='__main__').items() if not name.startswith('__'))
    finally:
        sys.argv = kept

def magic_writefile(line, body=None):
    """Write the cell to a file; -a appends."""
    append, name = re.match(r'\s*(-a\s+)?(.*?)\s*$', line).groups()
    there = os.path.exists(name)
    with open(os.path.expanduser(name), 'a' if append else 'w') as file:
        file.write(body)
    print(('Appending to ' if append else 'Overwriting ' if there else 'Writing ') + name)

def magic_capture(line, body=None):
    """Run the cell and keep what it prints in a variable."""
    global captured
    out, err = io.StringIO(), io.StringIO()
    captured = []
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            evaluated(body)
    finally:
        caught, captured = captured, None
    if line.split()[-1:] and not line.split()[-1].startswith('-'):
        module.__dict__[line.split()[-1]] = types.SimpleNamespace(stdout=out.getvalue(), stderr=err.getvalue(), outputs=caught or displays[:])

def magic_config(line, body=None):
    """%config InlineBackend.close_figures = False keeps figures open from call to call; other settings are taken and mean nothing."""
    global close_figures
    name, _, value = (part.strip() for part in line.partition('='))
    if name == 'InlineBackend.close_figures':
        close_figures = ast.literal_eval(value)

def magic_html(line, body=None):
    """Show the cell as HTML."""
    display({'text/html': body, 'text/plain': '<HTML object>'}, raw=True)

def magic_markdown(line, body=None):
    """Show the cell as Markdown."""
    display({'text/markdown': body, 'text/plain': '<Markdown object>'}, raw=True)

def magic_reset(line, body=None):
    """Forget all variables."""
    for name in [name for name in module.__dict__ if not name.startswith('__')]:
        del module.__dict__[name]

def magic_nothing(line, body=None):
    """Taken and without effect here."""

def magic_lsmagic(line, body=None):
    """The magics that there are."""
    print(known_magics())

magics = {name[6:]: value for name, value in list(globals().items()) if name.startswith('magic_')}
line_magics = {name: magics[name] for name in ('time', 'timeit', 'cd', 'env', 'who', 'who_ls', 'whos', 'pip', 'run', 'config', 'reset', 'lsmagic',
                                                    'history', 'load', 'pinfo', 'pinfo2')}
line_magics['hist'] = magic_history
line_magics.update(dict.fromkeys(('matplotlib', 'load_ext', 'reload_ext', 'autoreload', 'pylab', 'precision'), magic_nothing), set_env=magic_env,
                   sx=lambda line, body=None: command_output(line), system=lambda line, body=None: command_output(line),
                   pwd=lambda line, body=None: os.getcwd(), ls=lambda line, body=None: run_command('ls ' + line),
                   cat=lambda line, body=None: run_command('cat ' + line), mkdir=lambda line, body=None: run_command('mkdir ' + line))
cell_magics = {name: magics[name] for name in ('time', 'timeit', 'writefile', 'capture', 'html', 'markdown')}
cell_magics.update({name: lambda line, body, program=program: script(program, line, body)
                    for name, program in {'bash': [command_program()], 'sh': ['/bin/sh'], 'script': [], 'python': [sys.executable, '-'],
                                          'python3': [sys.executable, '-'], 'perl': ['perl'], 'ruby': ['ruby']}.items()}, HTML=magic_html, file=magic_writefile)

def known_magics():
    return 'Known are %s; for whole cells %s; and !command.' % (', '.join('%' + name for name in sorted(line_magics)),
                                                              ', '.join('%%' + name for name in sorted(cell_magics)))
