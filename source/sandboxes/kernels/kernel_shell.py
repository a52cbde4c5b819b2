# The notebook's shell, and lines that are no Python made to calls of it. A line stays a line, so that tracebacks name
# the right one.
class ZMQInteractiveShell:                      # programs tell notebooks by this name
    kernel, config = types.SimpleNamespace(), {}
    events = types.SimpleNamespace(register=lambda *values: None, unregister=lambda *values: None)
    user_module = module
    user_ns = user_global_ns = property(lambda self: module.__dict__)
    execution_count = property(lambda self: count)

    def run_line_magic(self, name, line, _stack_depth=1):
        if name not in line_magics:
            raise NameError('%%%s is no magic of this kernel. %s' % (name, known_magics()))
        return line_magics[name](line)

    def run_cell_magic(self, name, line, cell):
        if name not in cell_magics:
            raise NameError('%%%%%s is no magic for a whole cell in this kernel. %s' % (name, known_magics()))
        return cell_magics[name](line, cell)

    def magic(self, text):
        name, _, line = text.lstrip('%').partition(' ')
        return self.run_line_magic(name, line)

    def register_magic_function(self, function, magic_kind='line', magic_name=None):
        table = cell_magics if magic_kind == 'cell' else line_magics
        table[magic_name or function.__name__] = function

    def run_cell(self, source, *values, **options):
        return evaluated(source)

    def system(self, line):
        run_command(line)

    def getoutput(self, line, *values, **options):
        return command_output(line)

    def explain(self, name, detail=0):
        load_later('kernel_notebook')
        explain(name, detail)

    def object_inspect(self, name, detail_level=0):
        """What the name is: {'found', 'name', 'text'}."""
        load_later('kernel_notebook')
        try:
            return {'found': True, 'name': name, 'text': description(name, detail_level)}
        except Missing:
            return {'found': False, 'name': name}

    def set_next_input(self, text, replace=False):
        """Asks the client to put the text into the next cell, or in the place of this one."""
        load_later('kernel_notebook')
        if notebook is None:
            print(text)
        else:
            ask_client(source='set_next_input', text=cut(str(text), 1000000), replace=bool(replace))

    def ask_exit(self):
        load_later('kernel_notebook')
        builtins.exit()

    def enable_gui(self, *values):
        pass

    enable_matplotlib = enable_gui

the_shell = ZMQInteractiveShell()

assigned = re.compile(r'(\s*)([\w.\[\]\'", ]+?\s*=\s*)([!%])(?!=)\s*(.*)$')
helped = re.compile(r'\s*(\?{1,2})?\s*(%{0,2}[\w.*]+)\s*(\?{1,2})?\s*$')

def call(method, *values):
    return 'get_ipython().%s(%s)' % (method, ', '.join(map(repr, values)))

def magic_call(text):
    name, _, line = text.strip().partition(' ')
    return call('run_line_magic', name, line.strip())

def python_line(line):
    """The line as Python; None: it is no magic."""
    indent, text = line[:len(line) - len(line.lstrip())], line.strip()
    found = assigned.match(line)
    if text.startswith('!!'):
        return indent + call('getoutput', text[2:])
    if text.startswith('!'):
        return indent + call('system', text[1:])
    wish = helped.match(text)
    if wish and (wish.group(1) or wish.group(3)):
        return indent + call('explain', wish.group(2), len(wish.group(1) or wish.group(3)) - 1)
    if text.startswith('%') and re.match(r'%[A-Za-z_]', text):
        return indent + magic_call(text[1:])
    if found:
        return found.group(1) + found.group(2) + (call('getoutput', found.group(4)) if found.group(3) == '!' else magic_call(found.group(4)))
    if re.match(r'pip3?\s+\w', text):
        return indent + magic_call('pip ' + text.split(None, 1)[1])
    return None

def whole_cell(source):
    global timed
    head, _, body = source.lstrip('\n').partition('\n')
    name, _, line = head[2:].strip().partition(' ')
    if name == 'time' and not line:
        timed = True
        return '\n' * (len(source) - len(source.lstrip('\n')) + 1) + without_magics(body)
    return call('run_cell_magic', name, line.strip(), body)

# Lines that end with a backslash go on, in a command.
def replaced(lines, at):
    last = at
    while lines[last].endswith('\\') and last + 1 < len(lines):
        last += 1
    text = ' '.join([line.rstrip('\\') for line in lines[at:last]] + [lines[last]])
    made = python_line(text)
    if made is None:
        return False
    lines[at:last + 1] = [made] + [''] * (last - at)
    return True

def without_magics(source, problem=None):
    if source.lstrip().startswith('%%') and not helped.match(source):
        return whole_cell(source.lstrip(' \t'))
    lines = source.split('\n')
    for _ in range(len(lines) + 1):
        try:
            ast.parse('\n'.join(lines))
            return '\n'.join(lines)
        except SyntaxError as failure:
            problem = problem or failure
            near = [failure.lineno - 1] if failure.lineno and failure.lineno <= len(lines) else []
        if not any(replaced(lines, at) for at in [*near, *range(len(lines))] if not lines[at].lstrip().startswith('get_ipython().')):
            raise problem
    raise problem
