"""The globals of a program, as JavaScript. It is an expression: a function that is given the way out.

    prelude(door, now, seed) -> [begin, state]
    begin(source, input)     runs the program; state() says how it stands, as JSON

The program may overwrite everything that it can see, so what is used later is taken hold of first. The one
way out is `door(name, text)`: whatever is done with it is a call like any other. Time stands still at the
beginning of the run, chance comes from the run's seed, and what would tell when memory was collected, or
wait, is taken away: a program that is run again from its journal does the same again.
"""

from typing import Final

PRELUDE: Final = r"""
(function (door, now, seed) {
  "use strict";
  const {parse, stringify} = JSON;
  const {construct, defineProperty, apply} = Reflect;
  const {getOwnPropertyDescriptors, defineProperties, hasOwn} = Object;
  const FirstDate = Date, FirstError = Error, FirstTypeError = TypeError, FirstString = String;
  const evaluate = globalThis.eval, AnyPromise = Promise, then = Promise.prototype.then;
  const resolved = Promise.resolve;
  const text_of = FirstDate.prototype.toString;

  const call = function (name, parts) {
    const sent = stringify(parts);
    const told = parse(door(name, sent));
    if (hasOwn(told, "error")) {
      const error = new FirstError(told.error.message);
      defineProperty(error, "name", {value: told.error.name, writable: true, configurable: true});
      throw error;
    }
    return hasOwn(told, "output") ? parse(told.output) : undefined;
  };
  const worded = function (value, what) {
    if (typeof value !== "string") throw new FirstTypeError(what + " is not a string");
    return value;
  };
  const plain = function (value) { return value === undefined ? null : value; };
  const doors = {
    ai(ref, input, options) {
      const {schema, effort} = options === undefined || options === null ? {} : options;
      return call("ai", {__proto__: null, ref: worded(ref, "the ref of ai"), input: plain(input), schema, effort});
    },
    tool(name, args) { return call("tool", {__proto__: null, name: worded(name, "the name of tool"), args: plain(args)}); },
    ask(question, options) {
      const {options: choices, default: usual} = options === undefined || options === null ? {} : options;
      return call("ask", {__proto__: null, question: worded(question, "the question of ask"), options: choices, default: usual});
    },
    remember(note) { return call("remember", {__proto__: null, note: worded(note, "the note of remember")}); },
    recall(query) { return call("recall", {__proto__: null, query: query === undefined ? "" : worded(query, "the query of recall")}); },
    log(text) { return call("log", {__proto__: null, text: typeof text === "string" ? text : FirstString(text)}); },
  };
  for (const name in doors)
    defineProperty(globalThis, name, {value: doors[name], writable: true, configurable: true});

  const Clock = function () {
    if (new.target === undefined) return apply(text_of, new FirstDate(now), []);
    const parts = arguments.length === 0 ? [now] : arguments;
    return construct(FirstDate, parts, new.target);
  };
  const {prototype: _own, length: _length, name: _name, ...statics} = getOwnPropertyDescriptors(FirstDate);
  defineProperties(Clock, statics);
  defineProperty(Clock, "name", {value: "Date", configurable: true});
  defineProperty(Clock, "length", {value: 7, configurable: true});
  defineProperty(Clock, "now", {value: function () { return now; }, writable: true, configurable: true});
  defineProperty(Clock, "prototype", {value: FirstDate.prototype, writable: false});
  defineProperty(FirstDate.prototype, "constructor", {value: Clock, writable: true, configurable: true});
  defineProperty(globalThis, "Date", {value: Clock, writable: true, configurable: true});

  let [a, b, c, d] = seed;  // sfc32
  defineProperty(Math, "random", {value: function random() {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4294967296;
  }, writable: true, configurable: true});

  for (const name of ["performance", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "gc"])
    delete globalThis[name];

  let told = {__proto__: null, state: "running"};
  const described = function (thrown) {
    try {
      if (thrown !== null && typeof thrown === "object") {
        const name = FirstString(thrown.name), message = FirstString(thrown.message);
        const is_error = thrown instanceof FirstError;
        return is_error ? {__proto__: null, name, message}
          : {__proto__: null, name: "", message: stringify(thrown) || "an object"};
      }
      return {__proto__: null, name: "", message: FirstString(thrown)};
    } catch (_) {
      return {__proto__: null, name: "", message: "something that cannot be shown"};
    }
  };
  const threw = function (thrown) { told = {__proto__: null, state: "threw", error: described(thrown)}; };
  const finished = function (value) {
    try {
      const output = stringify(value);
      told = {__proto__: null, state: "finished", output: output === undefined ? "null" : output};
    } catch (thrown) { threw(thrown); }
  };
  const begin = function (source, input) {
    let value, run;
    try {
      const given = parse(input);
      defineProperty(globalThis, "input", {value: given, writable: true, configurable: true});
      // a declaration leaves the value of the script as it was
      const taken = "_" + (b >>> 0) + "_" + (c >>> 0);
      globalThis[taken] = function (found) { run = found; delete globalThis[taken]; return undefined; };
      value = evaluate(source + "\n;var " + taken + "_ = " + taken + "(typeof run === 'function' ? run : undefined);");
      delete globalThis[taken + "_"];
      if (run !== undefined) value = run(given);
      let follows;
      if (value !== null && (typeof value === "object" || typeof value === "function")) follows = value.then;
      if (typeof follows === "function") {
        told = {__proto__: null, state: "pending"};
        apply(then, apply(resolved, AnyPromise, [value]), [finished, threw]);
      } else finished(value);
    } catch (thrown) { threw(thrown); }
  };
  return [begin, function () { return stringify(told); }];
})
"""
