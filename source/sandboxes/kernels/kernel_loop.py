# Asynchronous code, compiled when there is some.
def the_loop():
    global loop, waiter, context
    if loop is None or loop.is_closed():
        import asyncio, concurrent.futures, contextvars
        loop, context = asyncio.new_event_loop(), contextvars.copy_context()
        waiter = waiter or concurrent.futures.ThreadPoolExecutor(1)
        asyncio.set_event_loop(loop)
        plain_run = asyncio.run
        def run(*values, **options):            # a script's way to begin its own
            here = asyncio._get_running_loop()
            if here is not loop:
                return plain_run(*values, **options)
            asyncio._set_running_loop(None)
            try:
                return plain_run(*values, **options)
            finally:
                asyncio._set_running_loop(here)
                asyncio.set_event_loop(loop)
        run.__doc__, run.__module__ = plain_run.__doc__, 'asyncio'
        if plain_run.__module__ != 'asyncio':
            asyncio.run = run
    return loop

def in_loop(work):
    try:
        task = the_loop().create_task(work, context=context)
    except TypeError:                           # Python before 3.11
        task = loop.create_task(work)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:
        if not task.done():
            task.cancel()
            try:
                loop.run_until_complete(task)
            except BaseException:
                pass
        raise
