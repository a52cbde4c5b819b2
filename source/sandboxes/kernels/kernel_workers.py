# Workers of multiprocessing in a kernel, whose code stands in no file.
def only_new_workers():
    import multiprocessing
    if multiprocessing.context.get_spawning_popen() is not None:
        return True
    workers = multiprocessing.active_children()
    return bool(workers) and all(getattr(worker, '_start_method', None) in ('spawn', 'forkserver') for worker in workers)

# They would fail one after the other, and a pool would start further ones for ever.
def tell_of_workers(reduction):
    def reducer_override(self, value):
        if isinstance(value, (types.FunctionType, type)) and value.__module__ == '__main__' and only_new_workers():
            raise RuntimeError('Processes that begin anew (spawn, forkserver) cannot find %s, which a cell defines: write it to a module (%%%%writefile work.py) and '
                               'import it, or take processes that are forked: multiprocessing.get_context("fork").' % value.__qualname__)
        return NotImplemented
    reduction.ForkingPickler.reducer_override = reducer_override
