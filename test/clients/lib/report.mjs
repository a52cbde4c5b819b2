// One line a test, as ./run counts them: "ok NAME" or "not ok NAME: reason".

const one_line = (text) => String(text).replace(/\s+/g, " ").trim().slice(0, 600);

export function pass(name) {
    console.log(`ok ${name}`);
}

export function fail(name, reason) {
    process.exitCode = 1;
    console.log(`not ok ${name}: ${one_line(reason)}`);
}

function limited(promise, limit_ms) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no end within ${limit_ms / 1000} s`)), limit_ms);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/// Runs one test and reports it; an exception is the reason of its failure. Tells whether it passed.
export async function test(name, body, limit_ms = 60_000) {
    try {
        await limited(body(), limit_ms);
        pass(name);
        return true;
    } catch (error) {
        fail(name, error?.message ?? error);
        if (process.env.CMCP_TEST_TRACE) console.error(error);
        return false;
    }
}

/// For faults that may come at any moment, and for figures that are an amount in a time. What is waited for has until().
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, condition, limit_ms = 60_000) {      // patience is for failures alone
    const end = Date.now() + limit_ms;
    while (!(await condition())) {
        if (Date.now() > end) throw new Error(`${what}: not within ${limit_ms / 1000} s`);
        await pause(20);
    }
}
