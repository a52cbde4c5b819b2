# Orders of the server beside code to run: questions of clients, and the state of the interpreter.
# What a client of Jupyter's protocol asks about the code and its names.
def look(job):
    try:
        try:
            begin_work()
            load_later('kernel_notebook')
            return {'ok': True, 'exit': 0, 'state': questions_of_clients[job['question']](job['content'])}
        finally:
            end_work()
    except BaseException as problem:
        return {'ok': False, 'exit': 1, 'reason': cut('%s: %s' % (type(problem).__name__, problem), 300)}

# The state of the interpreter, given to another one, taken from it or kept for a later one.
def move_state(job):
    global fresh, was_kept
    fresh, was_kept = fresh and job['op'] != 'take', was_kept or job['op'] == 'keep'
    try:
        try:
            begin_work()
            look_for_packages()     # the state has sys.path in it
            run_own(job['program'], '<state>')
            answer = {'ok': True, 'exit': 0, 'state': globals()[job['op']](job)}
        finally:
            end_work()
        return answer
    except BaseException as problem:
        return {'ok': False, 'exit': 1, 'reason': cut('%s: %s' % (type(problem).__name__, problem), 300)}
    finally:
        if job['op'] == 'take':
            handed_back.release()

# A kernel that runs code for the first time takes what the one before has kept. The mark says that there was one.
def earlier_kernel():
    folder = os.path.join(workspace, kept_folder)
    mark, state = os.path.join(folder, 'began'), os.path.join(folder, 'state')
    earlier = None
    try:
        if forgets:
            for name in (mark, state):
                if os.path.lexists(name):
                    os.unlink(name)
        if os.path.exists(state):
            load_later('kernel_recall')
            earlier = recall(folder)
        elif os.path.exists(mark):
            earlier = {'kept': False}
        os.makedirs(folder, exist_ok=True)
        open(mark, 'w').close()
    except OSError as problem:
        print('The variables of later kernels cannot be kept: %s' % problem, file=sys.stderr)
    return earlier

def drop_state():
    try:
        os.unlink(os.path.join(workspace, kept_folder, 'state'))
    except OSError:
        pass
