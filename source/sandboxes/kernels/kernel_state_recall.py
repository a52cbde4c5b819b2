# Takes the state that keep() wrote for the kernel before. It has another name meanwhile, so that state which ends the
# kernel does so once.
def recall(folder):
    place = os.path.join(folder, 'taken')
    os.rename(os.path.join(folder, 'state'), place)
    try:
        with open(place, 'rb') as file:
            about = pickle.load(file)
            if tuple(about['python']) != sys.version_info[:2]:
                return {'kept': False, 'reason': 'another version of Python kept them'}
            taken, problem = load_state(Reader(file))
    except Exception as failure:
        return {'kept': False, 'reason': reason(failure)}
    finally:
        os.unlink(place)
    main.__dict__.update(taken)
    left_out = about['problems']
    if problem is not None:
        if not problem['name']:
            return {'kept': False, 'reason': problem['reason']}
        left_out = left_out + [problem] + [{'name': name, 'reason': 'it came after ' + problem['name']} for name in problem['rest']]
    return {'kept': True, 'variables': len(taken), 'left_out': left_out[:50]}
