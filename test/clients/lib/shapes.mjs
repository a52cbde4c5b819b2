// The shapes of the tools' results, as the contract names them. Further keys are welcome, missing ones are not.
import assert from "node:assert/strict";
import Ajv2020 from "ajv/dist/2020.js";

const kinds = {
    string: (v) => typeof v === "string",
    integer: Number.isInteger,
    number: (v) => typeof v === "number" && Number.isFinite(v),
    boolean: (v) => typeof v === "boolean",
    object: (v) => v !== null && typeof v === "object" && !Array.isArray(v),
    array: Array.isArray,
    any: () => true,
};

const CAUSES = ["exited", "signalled", "timeout", "cpu_limit", "memory_limit", "process_limit", "file_size_limit", "output_limit",
    "denied_syscall", "cancelled", "setup_failed", "lost"];

export const SHAPES = {
    system_run_command: { stdout: "string", stderr: "string", exit_code: "integer", success: "boolean", duration_ms: "number",
        cause: "string", stdout_truncated: "boolean", stderr_truncated: "boolean" },
    system_run_python: { output: "string", error: "string", result: "any", success: "boolean", exit_code: "integer",
        duration_ms: "number", cause: "string" },
    system_env_var: { variables: "object", requested_var: "any" },
    system_info: { limits: "object", layers: "any" },
    file_read: { content: "string", size: "integer", modified: "number", success: "boolean" },
    file_write: { success: "boolean", path: "string" },
    file_list: { entries: "array", path: "string", success: "boolean" },
    file_delete: { success: "boolean", path: "string" },
    file_move: { success: "boolean", source: "string", destination: "string" },
};
const ENTRY = { name: "string", path: "string", is_directory: "boolean", size: "any", modified: "number" };

// Results with images have no structuredContent, so these publish no schema of it.
const MAY_SHOW_IMAGES = new Set(["view_file", "web_browse", "execute_code", "execute_python_code", "execute_terminal_command", "job_poll", "system_run_command", "system_run_python"]);

export const TOOLS = Object.keys(SHAPES);

function has_shape(value, shape, where) {
    assert(kinds.object(value), `${where} is no object: ${JSON.stringify(value)}`);
    for (const [key, kind] of Object.entries(shape)) {
        assert(key in value, `${where} lacks '${key}': ${JSON.stringify(value).slice(0, 200)}`);
        assert(kinds[kind](value[key]), `${where}.${key} is no ${kind}: ${JSON.stringify(value[key]).slice(0, 100)}`);
    }
}

/// Clients read content[0].text or structuredContent: what was printed is in both.
export function structured(result) {
    assert(result.structuredContent, `no structuredContent: ${JSON.stringify(result).slice(0, 200)}`);
    assert.equal(result.content?.[0]?.type, "text", "content[0] is no text");
    for (const printed of ["stdout", "output", "content", "error"])
        assert(result.content[0].text.includes(result.structuredContent[printed] ?? ""), `content[0].text lacks '${printed}'`);
    return result.structuredContent;
}

/// The result of a tool that did its work, checked against the contract.
export function good(tool, result) {
    const value = structured(result);
    assert(!result.isError, `isError: ${JSON.stringify(value).slice(0, 300)}`);
    has_shape(value, SHAPES[tool], tool);
    if (tool === "file_list") {
        for (const entry of value.entries) {
            has_shape(entry, ENTRY, "entry");
            assert(entry.is_directory ? entry.size === null : Number.isInteger(entry.size), `size of ${entry.path}: ${entry.size}`);
        }
    }
    if ("cause" in value) assert(CAUSES.includes(value.cause), `cause '${value.cause}'`);
    return value;
}

/// A failure that the model can correct: isError, success false, a sentence.
export function refused(result, pattern = /./) {
    const value = structured(result);
    assert.equal(result.isError, true, `isError is not true: ${JSON.stringify(value).slice(0, 200)}`);
    assert.equal(value.success, false, "success is not false");
    assert.equal(typeof value.error, "string", "no sentence in 'error'");
    assert.match(value.error, pattern);
    return value;
}

/// Checks results against the schemas that tools/list published.
export class published_schemas {
    #validators = new Map();

    constructor(tools) {
        const ajv = new Ajv2020({ strict: false });
        for (const tool of tools) {
            assert(tool.outputSchema || MAY_SHOW_IMAGES.has(tool.name), `${tool.name} publishes no outputSchema`);
            if (tool.outputSchema) this.#validators.set(tool.name, ajv.compile(tool.outputSchema));
        }
    }

    check(tool, result) {
        const valid = this.#validators.get(tool) ?? (() => true);
        assert(valid(result.structuredContent), `${tool} breaks its own outputSchema: ${JSON.stringify(valid.errors?.[0])}`);
        return result;
    }
}
