// What calls take, in ways that are compared.

export const median = (figures) => [...figures].sort((one, other) => one - other)[figures.length >> 1];

/// Medians in milliseconds of `count` calls in each way. They take turns, so that what else the machine does meets all of them; the
/// first `unmeasured` only warm up.
export async function by_turns(count, unmeasured, ways) {
    const times = ways.map(() => []);
    for (let i = 0; i < count + unmeasured; ++i) {
        for (const [way, call] of ways.entries()) {
            const begun = process.hrtime.bigint();
            await call();
            if (i >= unmeasured) times[way].push(Number(process.hrtime.bigint() - begun) / 1e6);
        }
    }
    return times.map(median);
}
