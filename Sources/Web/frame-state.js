// What this page and the page that frames it say to each other by postMessage, as a value: messages in, commands and answers
// out. It has no window, element, clock or call. Embedding.md describes the messages.

/// Every message has it as `tessera`.
export const VERSION = 1;
/// Commands that may come at once, and one more each so many ms: a host's page that repeats itself cannot keep this one busy.
const BURST = 20, EVERY = 200;
/// Of ids and names.
const MAX_TEXT = 64;

const isText = value => typeof value === 'string' && value.length > 0 && value.length <= MAX_TEXT;
const isSwitch = value => typeof value === 'boolean';
const isScope = value => value === 'me' || value === 'room';
const optional = isRight => value => value === undefined || isRight(value);

/// The fields of each command, and where it can be done: a name that is null means the picture that all see.
const COMMANDS = new Map(Object.entries({
  hello: { fields: {}, phases: ['lobby', 'joining', 'waiting', 'call', 'ended'] },
  join: { fields: { name: optional(isText) }, phases: ['lobby'] },
  leave: { fields: {}, phases: ['waiting', 'call'] },
  mute: { fields: {}, phases: ['call'] },
  unmute: { fields: {}, phases: ['call'] },
  camera: { fields: { on: isSwitch }, phases: ['call'] },
  hand: { fields: { on: isSwitch }, phases: ['call'] },
  stopScreen: { fields: {}, phases: ['call'] },
  layout: { fields: { name: value => value === null || isText(value), scope: optional(isScope) }, phases: ['call'] },
}));

/**
 * @typedef {'lobby' | 'joining' | 'waiting' | 'call' | 'ended'} Phase
 * @typedef {{ tessera: number, event: string, [key: string]: any }} Told
 * @typedef {{ command: string, id?: string | number, fields: Record<string, any> }} Asked
 */

/// The origins that a Content-Security-Policy lets frame this page: the server says in it what its `http.frameAncestors` is. Two
/// policies hold both (CSP 3 §3.1), and one that does not speak of frames permits nobody to command.
/** @param {string | null} policy @param {string} origin @param {string} own */
export function permits(policy, origin, own) {
  const lists = (policy ?? '').split(',').map(each => each.split(';').map(part => part.trim().split(/\s+/)).find(([name]) => name.toLowerCase() === 'frame-ancestors'));
  const has = sources => sources.some(source => source === '*' || (source === '\'self\'' ? origin === own : source === origin));
  // A document without an origin, such as a sandboxed one, is everybody's.
  return origin !== 'null' && lists.every(list => Boolean(list) && has(/** @type {string[]} */ (list).slice(1)));
}

export class FrameState {
  /// The host's page has said hello: it is told what happens.
  isTold = false;
  #tokens = BURST;
  #at = 0;
  /// What was told last of each kind that is told at changes only.
  /** @type {Map<string, string>} */
  #last = new Map();

  /// A message of a page that may frame this one. Null: it is none of ours, or too many came.
  /** @param {any} data @param {Phase} phase @param {number} now ms @returns {Asked | Told | null} */
  heard(data, phase, now) {
    if (typeof data !== 'object' || data === null || !('tessera' in data)) return null;
    if (!this.#takes(now)) return null;
    const { tessera, command, id, ...given } = data;
    const known = isText(id) || Number.isFinite(id) ? { id } : {};
    const refuse = (code, message) => ({ ...event('error', { code, message }), ...(isText(command) ? { command } : {}), ...known });
    if (tessera !== VERSION) return refuse('version', `this frame speaks version ${VERSION}`);
    const kind = COMMANDS.get(command);
    if (!kind) return refuse('command', `the commands are ${[...COMMANDS.keys()].join(', ')}`);
    /** @type {Record<string, any>} */
    const fields = {};
    for (const [name, isRight] of Object.entries(kind.fields)) {
      if (!isRight(given[name])) return refuse('field', `${command}: ${name} is missing or not allowed`);
      if (given[name] !== undefined) fields[name] = given[name];
    }
    if (!kind.phases.includes(phase)) return refuse('phase', `${command}: not in the phase ${phase}, but in ${kind.phases.join(', ')}`);
    return { command, ...known, fields };
  }

  #takes(now) {
    this.#tokens = Math.min(BURST, this.#tokens + (now - this.#at) / EVERY);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /// The message of an event, or null where the page has not said hello, or knows it already.
  /** @param {string} name @param {Record<string, any>} fields @returns {Told | null} */
  tells(name, fields, isState = false) {
    const text = JSON.stringify(fields);
    const isKnown = isState && this.#last.get(name) === text;
    if (isState) this.#last.set(name, text);
    return this.isTold && !isKnown ? event(name, fields) : null;
  }

  /// The answer to a hello: all of the state.
  /** @param {Record<string, any>} state @returns {Told} */
  hello(state) {
    this.isTold = true;
    return event('state', state);
  }
}

/** @returns {Told} */
export const event = (name, fields = {}) => ({ tessera: VERSION, event: name, ...fields });
/// A command was done.
/** @returns {Told} */
export const done = (command, id) => event('done', { command, id });
