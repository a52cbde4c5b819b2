try:
    options, _, page = sys.stdin.buffer.read().partition(b'\n')
    options, page = json.loads(options), page.decode('utf-8', 'replace').replace('\0', '\ufffd')
    (read_results if options['kind'] == 'results' else read_page)(options, page)
except Refused as problem:
    answer(error=str(problem))
except RecursionError:
    answer(error='The page or the selector is nested too deeply to be read.')
