// Tokens of each text of a JSON array on standard input, as a JSON array.
import { readFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((text) => encode(text).length)));
