// A reader of storages, written from docs/storage-format.md alone. A directory a line on stdin; its records,
// or why it is refused, as a line of JSON on stdout.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { crc32 } from "node:zlib";

const table = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

function crcOf(bytes) {
  if (crc32) return crc32(bytes); // from Node 22.2 on
  let crc = 0xffffffff;
  for (const byte of bytes) crc = table[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// The lines up to the last newline: {at, row}; row is null for one whose crc is wrong.
function linesOf(bytes) {
  const found = [];
  for (let at = 0, end; (end = bytes.indexOf(10, at)) >= 0; at = end + 1) {
    const line = bytes.subarray(at, end);
    const mark = line.lastIndexOf(',"crc":"');
    const right = mark >= 0 && line.subarray(mark + 8).toString() === `${crcOf(line.subarray(0, mark)).toString(16).padStart(8, "0")}"}`;
    found.push({ at, row: right ? JSON.parse(line.toString()) : null });
  }
  return found;
}

function commitsOf(directory) {
  const path = join(directory, "main.jsonl");
  if (!existsSync(path)) return [];
  const lines = linesOf(readFileSync(path));
  const wrong = lines.findIndex((line) => line.row === null);
  if (wrong < 0) return lines.map((line) => line.row);
  if (lines.slice(wrong).some((line) => line.row && line.row.acked > lines[wrong].at)) throw new Error("damaged");
  return lines.slice(0, wrong).map((line) => line.row);
}

function sidecarOf(directory, name) {
  const records = new Map();
  const path = join(directory, name);
  if (!existsSync(path)) return records;
  for (const { row } of linesOf(readFileSync(path))) {
    if (row === null) break; // what follows the last confirmed record never happened
    records.set(`${row.seq}/${row.ordinal}`, row.payload);
  }
  return records;
}

const steps = (path) => (path === "" ? [] : path.slice(1).split("/").map((s) => s.replaceAll("~1", "/").replaceAll("~0", "~")));
const get = (value, path) => steps(path).reduce((inner, key) => inner[key], value);

function put(root, path, act) {
  const keys = steps(path);
  const last = keys.pop();
  act(keys.reduce((inner, key) => inner[key], root.value), last);
}

function add(root, path, value) {
  if (path === "") root.value = value;
  else put(root, path, (inner, key) => (Array.isArray(inner) ? inner.splice(key === "-" ? inner.length : Number(key), 0, value) : (inner[key] = value)));
}

const remove = (root, path) => put(root, path, (inner, key) => (Array.isArray(inner) ? inner.splice(Number(key), 1) : delete inner[key]));

function patched(value, ops) {
  const root = { value: structuredClone(value) };
  for (const { op, path, from, value: given } of ops) {
    const taken = from === undefined ? given : structuredClone(get(root.value, from));
    if (op === "test") continue;
    if (op === "move") remove(root, from);
    if (op === "remove") remove(root, path);
    else if (op === "replace" && path !== "") put(root, path, (inner, key) => (inner[key] = taken));
    else add(root, path, taken);
  }
  return root.value;
}

function read(directory) {
  const records = { conversation: {}, entry: {}, submission: {}, task: {}, document: {}, retired: [] };
  const inSidecar = {}; // of a task: where its last write says that its state is
  const contents = {}; // of a document: the records that the markers name
  for (const { seq, writes } of commitsOf(directory)) {
    for (const write of writes) {
      const { type, value, id, ordinal, record } = write;
      if (type === "task.sidecar") inSidecar[id] = `${seq}/${ordinal}`;
      else if (type === "document.create") [records.document[record.id], contents[record.id]] = [record, [`${seq}/${ordinal}`]];
      else if (type === "document.change") contents[id].push(`${seq}/${ordinal}`);
      else if (type === "document.retire") records.retired.push(id);
      else records[type][value.id] = value;
      if (type === "task") delete inSidecar[value.id];
    }
  }
  for (const [id, where] of Object.entries(inSidecar)) records.task[id] = sidecarOf(directory, `task-${id}.jsonl`).get(where).value;
  for (const id of records.retired) delete records.document[id];
  records.content = {};
  for (const id of Object.keys(records.document)) {
    const sidecar = sidecarOf(directory, `doc-${id}.jsonl`);
    const named = contents[id].map((where) => sidecar.get(where)?.content);
    const base = named.findLastIndex((content) => content?.kind === "base");
    records.content[id] = named.slice(base + 1).reduce((value, delta) => patched(value, delta.ops), named[base].value);
  }
  return records;
}

for await (const directory of createInterface({ input: process.stdin })) {
  let answer;
  try {
    readdirSync(directory);
    answer = read(directory);
  } catch (error) {
    answer = { refused: String(error.message) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
