// Two servers, each on a machine of its own (a network namespace), that both reach etcd and object storage, and not each other: nobody may take
// over what the other one serves, so calls for that are refused, soon, as ones that were not begun.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { start_rig } from "../lib/cluster_rig.mjs";
import { start_etcd } from "../lib/etcd.mjs";
import { enter_own_network, HOST, make_machines } from "../lib/machines.mjs";
import { start_object_storage } from "../lib/object_storage.mjs";
import { test } from "../lib/report.mjs";

await enter_own_network(import.meta.filename);
const machines = make_machines(["n1", "n2"]);
const storage = await start_object_storage({ host: HOST });
const etcd = await start_etcd({ places: [{ host: HOST, inside: [] }] });
const settings = { ...storage.settings("cut"), SNAPSHOT_KEY: randomBytes(32).toString("hex"), SANDBOX_SNAPSHOT_EVERY: "1" };
const { at, boxes, stop } = await start_rig(settings, { machines, etcd });

const PATIENCE = 5;     // of whoever waits for a refusal, in seconds
const own = (name) => at(name).run(boxes[name], "cat whose");
const other = { n1: "n2", n2: "n1" };

/// The answers of `name` to a call and to a request for a file of the other one's sandbox, and the seconds that each has taken.
async function ask_for_others(name) {
    const timed = async (work) => {
        const begun = performance.now();
        const answer = await work();
        return { ...answer, seconds: (performance.now() - begun) / 1000 };
    };
    const call = await timed(() => at(name).rest("execute_terminal_command", { sandbox_id: boxes[other[name]], command: "echo twice >> log; cat whose" }));
    const file = await timed(async () => {
        const answer = await at(name).get(`/sandbox/file?sandbox_id=${boxes[other[name]]}&file_path=whose`);
        return { status: answer.status, value: JSON.parse(await answer.text()), headers: answer.headers };
    });
    return [call, file];
}

for (const warm of [false, true])
    await test(`cut: servers that cannot connect to each other refuse within ${PATIENCE} s what the other one has, ${warm ? "after they could" : "from the begin"}, and serve their own`, async () => {
        if (warm) for (const name of ["n1", "n2"]) assert.equal(await at(name).run(boxes[other[name]], "cat whose"), `${other[name]}\n`);
        machines.cut_off(["n1"]);
        try {
            // A connection that is open when the road ends may have carried a request.
            if (warm) await Promise.all(["n1", "n2"].map(ask_for_others));
            for (let i = 0; i < 2; ++i)
                for (const answers of await Promise.all(["n1", "n2"].map(ask_for_others)))
                    for (const { status, value, headers, seconds } of answers) {
                        assert.deepEqual([status, value.error_type, value.may_have_run], [503, "NodeUnreachable", undefined], JSON.stringify(value));
                        assert(headers.has("retry-after"));
                        console.log(`# refused after ${seconds.toFixed(1)} s`);
                        assert(seconds <= PATIENCE, `${seconds.toFixed(1)} s`);
                    }
            for (const name of ["n1", "n2"]) assert.equal(await own(name), `${name}\n`);
        } finally {
            machines.heal();
        }
        for (const name of ["n1", "n2"]) assert.equal(await at(name).run(boxes[other[name]], "cat whose"), `${other[name]}\n`);
    }, 120_000);

await test("cut: all stops, and leaves nothing", async () => {
    await stop();
    await etcd.stop();
    await storage.stop();
});
process.exit();
