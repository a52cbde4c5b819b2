"""Tools of the server, called from code in a sandbox.

    from tools import file_read             # a function with the tool's arguments; help(file_read) explains them
    notes = file_read(path='notes.txt')     # of this sandbox
    notes.content, notes['content']         # results are dicts whose keys are attributes, too

    import tools
    tools.search('issue comment')           # tools that the words fit
    dir(tools)                              # their names; tools.github is what the server github offers
    tools.call('file_read', {'path': …})    # by name

A call that fails raises ToolError, whose `result` has all that the tool said. Calls go on at the same time from
threads. on_progress=f calls f(event, data) for what a tool tells before its end.
"""
import json
import keyword
import os
import select
import socket
import threading

ADDRESS = ('127.0.0.1', 3127)
VARIABLE = 'CONTAINER_MCP_TOOLS'

_own = threading.local()
_known = None


class ToolError(RuntimeError):
    """A call did not succeed. `result`: what the tool said; `kind`: the type of a refusal, or None."""

    def __init__(self, sentence, result=None, kind=None):
        super().__init__(sentence)
        self.result = result if result is not None else Result()
        self.kind = kind


class Result(dict):
    """A dict whose keys are attributes, too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError('the result has no %s; it has %s' % (name, ', '.join(map(str, self)) or 'nothing'))

    def __dir__(self):
        return [*super().__dir__(), *(key for key in self if isinstance(key, str) and key.isidentifier())]


class _Connection:
    """HTTP/1.1 as far as the server's answers need it: http.client takes longer to load than a call takes."""

    def __init__(self):
        self.process = os.getpid()
        try:
            self.socket = socket.create_connection(ADDRESS)
        except OSError as problem:
            raise ToolError('This sandbox has no tools: %s.' % problem) from None
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile('rb')

    def send(self, method, path, accept, body):
        ticket = os.environ.get(VARIABLE)
        if not ticket:
            raise ToolError('This program has no right to call tools: %s is not set.' % VARIABLE)
        head = ['%s %s HTTP/1.1' % (method, path), 'Host: 127.0.0.1', 'Authorization: Bearer ' + ticket,
                'Accept: ' + accept, 'Content-Type: application/json', 'Content-Length: %d' % len(body)]
        self.socket.sendall('\r\n'.join(head).encode('latin-1') + b'\r\n\r\n' + body)

    def line(self):
        line = self.file.readline(1 << 16)
        if not line.endswith(b'\n'):
            raise ConnectionError('it closed the connection')
        return line.strip().decode('latin-1')

    def read_head(self):
        status = int(self.line().split(' ')[1])
        fields = {}
        while True:
            name, colon, value = self.line().partition(':')
            if not colon:
                return status, fields
            fields[name.lower()] = value.strip()

    def pieces(self, fields):
        if fields.get('transfer-encoding') != 'chunked':
            yield self.file.read(int(fields.get('content-length', 0)))
            return
        while True:
            size = int(self.line().partition(';')[0], 16)
            piece = self.file.read(size)
            self.line()
            if not size:
                return
            yield piece


# An idle connection may have been closed since. What was sent is not sent again, because the call may have begun.
def _connection():
    known, _own.connection = getattr(_own, 'connection', None), None
    if known is None or known.process != os.getpid():
        return _Connection()
    if select.select([known.socket], [], [], 0)[0]:
        known.socket.close()
        return _Connection()
    return known


def _exchange(method, path, body=b'', accept='application/json'):
    connection = _connection()
    try:
        connection.send(method, path, accept, body)
        return (connection, *connection.read_head())
    except (OSError, ValueError, IndexError) as problem:
        connection.socket.close()
        raise ToolError('The server did not answer the call: %s.' % problem) from None


def _keep(connection, fields):
    if fields.get('connection', '').lower() == 'close':
        connection.socket.close()
    else:
        _own.connection = connection


def _loads(text):
    return json.loads(text, object_hook=Result)


def _events(pieces):
    rest = b''
    for piece in pieces:
        *whole, rest = (rest + piece).split(b'\n\n')
        for event in whole:
            lines = [line.partition(b': ')[::2] for line in event.split(b'\n')]
            data = b'\n'.join(value for name, value in lines if name == b'data')
            kind = next((value.decode() for name, value in lines if name == b'event'), None)
            if kind is not None:
                yield kind, _loads(data)


def _checked(status, value):
    if status != 200 or value.get('error_type'):
        raise ToolError(str(value.get('error', 'The call was refused.')), value, value.get('error_type'))
    if value.get('success') is False:
        raise ToolError(str(value.get('error') or 'The tool says that it did not succeed; see ToolError.result.'), value)
    return value


def _ask(method, path, body=b''):
    connection, status, fields = _exchange(method, path, body)
    value = _loads(b''.join(connection.pieces(fields)))
    _keep(connection, fields)
    return _checked(status, value)


def _call_telling(path, body, on_progress):
    connection, status, fields = _exchange('POST', path, body, 'text/event-stream')
    if not fields.get('content-type', '').startswith('text/event-stream'):
        value = _loads(b''.join(connection.pieces(fields)))
        _keep(connection, fields)
        return _checked(status, value)
    value = None
    for kind, data in _events(connection.pieces(fields)):
        if kind == 'result':
            value = data
        else:
            on_progress(kind, data)
    _keep(connection, fields)
    if value is None:
        raise ToolError('The server ended the call.')
    return _checked(200, value)


def _quoted(name):
    return ''.join(c if c.isalnum() and c.isascii() or c in '_.-' else ''.join('%%%02X' % b for b in c.encode())
                   for c in name)


def call(name, arguments=None, on_progress=None):
    """Calls a tool by its name. `arguments`: a dict."""
    body = json.dumps(arguments or {}).encode()
    path = '/tools/' + _quoted(name)
    if on_progress is not None:
        return _call_telling(path, body, on_progress)
    return _ask('POST', path, body)


def search(words='', limit=10):
    """The tools whose names and descriptions fit the words best: a list of {name, signature, description}."""
    fits = _ask('GET', '/tools?limit=%d&search=%s' % (limit, _quoted(words)))['tools']
    return [Result(name=each['name'], signature=_signature(each), description=each.get('description', ''))
            for each in fits]


_types = {'string': 'str', 'integer': 'int', 'number': 'float', 'boolean': 'bool', 'array': 'list', 'object': 'dict'}


def _type_of(schema):
    named = schema.get('type') if isinstance(schema, dict) else None
    if isinstance(named, list):
        named = next((each for each in named if each != 'null'), None)
    return _types.get(named) if isinstance(named, str) else None


def _own_name(name):
    plain = ''.join(c if c.isalnum() or c == '_' else '_' for c in name)
    return plain + '_' if keyword.iskeyword(plain) else plain


# (its name in Python, its own name, type, whether it must be there), those that must be first.
def _parameters(tool):
    schema = tool.get('input_schema', {})
    required = schema.get('required', [])
    listed = [(_own_name(name), name, _type_of(of), name in required)
              for name, of in schema.get('properties', {}).items()]
    own = [each for each in listed if each[0].isidentifier() and each[0] != 'on_progress']
    return sorted(own, key=lambda each: not each[3])


def _signature(tool):
    words = [name + (': ' + kind if kind else '') + ('' if needed else ' = ...')
             for name, _, kind, needed in _parameters(tool)]
    return '%s(%s)' % (tool['name'], ', '.join([*words, 'on_progress=None']))


def _documentation(tool):
    lines = [_signature(tool), '', tool.get('description', '')]
    properties = tool.get('input_schema', {}).get('properties', {})
    for name, own, kind, needed in _parameters(tool):
        about = properties[own].get('description', '') if isinstance(properties[own], dict) else ''
        lines += ['', '%s%s%s' % (name, ': ' + kind if kind else '', '' if needed else ', optional')]
        lines += ['    ' + about] if about else []
    output = tool.get('output_schema', {}).get('properties', {})
    if output:
        lines += ['', 'Returns a dict with ' + ', '.join(output) + '.']
    return '\n'.join(lines)


# A function whose parameters are the tool's, so that help(), completion and mistakes in a call are those of Python.
def _function(tool):
    parameters = _parameters(tool)
    words = [name + (': ' + kind if kind else '') + ('' if needed else ' = ...')
             for name, _, kind, needed in parameters]
    last = _own_name(tool['name'].rpartition('.')[2])
    source = 'def %s(%s) -> Result:\n    return _send(dict(%s), on_progress)\n' % (
        last, ', '.join([*words, 'on_progress=None']), ', '.join('%s=%s' % (name, name) for name, *_ in parameters))
    own = {name: real for name, real, _, _ in parameters}

    def send(values, on_progress):
        return call(tool['name'], {own[name]: value for name, value in values.items() if value is not ...}, on_progress)

    names = {'_send': send, 'Result': Result, '__name__': __name__}
    exec(source, names)
    names[last].__doc__ = _documentation(tool)
    return names[last]


class _Server:
    """The tools of another MCP server."""

    def __init__(self, name, tools):
        self.__name__ = name
        self.__doc__ = '\n'.join(['Tools of the server %s:' % name, '', *(_signature(each) for each in tools)])
        self._tools = {_own_name(each['name'].partition('.')[2]): each for each in tools}

    def __getattr__(self, name):
        if name.startswith('__') or name not in self._tools:
            raise AttributeError('the server %s offers no %s; it offers %s' %
                                 (self.__name__, name, ', '.join(self._tools)))
        return _function(self._tools[name])

    def __dir__(self):
        return list(self._tools)


def _all():
    global _known
    if _known is None:
        _known = _ask('GET', '/tools')['tools']
    return _known


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    for tool in _all():
        if tool['name'] == name:
            return _function(tool)
    of_server = [tool for tool in _all() if _own_name(tool['name'].partition('.')[0]) == name and '.' in tool['name']]
    if of_server:
        return _Server(name, of_server)
    raise AttributeError('there is no tool %s that code may call; tools.search() finds those that there are' % name)


def __dir__():
    return sorted({_own_name(tool['name'].partition('.')[0]) for tool in _all()} | {'ToolError', 'call', 'search'})
