// This page in a frame: it takes commands of the page that holds it, and tells it what happens. `FrameState` knows the messages.

import { FrameState, done, event, permits } from '/assets/frame-state.js';

const $ = id => document.getElementById(id);
// Messages that came before the server's list of pages did.
const MAX_EARLY = 20;

const state = new FrameState();
/** @type {import('./call.js').Call | null} */
let call = null;
/// The origin of the page that has said hello.
let host = null;
/// Of the page, as `start.js` has it: this script shares no file with the others, so that they are in no more files than without it.
/** @type {{ lobby: typeof import('./lobby.js').lobby, guest: () => string }} */
let page;

function tell(message) { if (message && host) parent.postMessage(message, host); }
/** @param {string} name @param {Record<string, any>} fields */
const tells = (name, fields, isState = false) => tell(state.tells(name, fields, isState));

// ---- What is so

/** @returns {import('./frame-state.js').Phase} */
function phase() {
  const shown = ['lobby', 'waiting', 'call', 'ended'].find(id => !$(id).hidden) ?? 'lobby';
  return /** @type {any} */ (shown === 'lobby' && $('join').disabled ? 'joining' : shown);
}

const person = ({ id, name, role, audio, video, hand, presenting }) => ({ id, name, role, audio, video, hand, presenting });

/// The events that tell a state: its present one is in the answer to a hello, too.
const STATES = {
  muted: () => ({ muted: !call?.sending.audio }),
  camera: () => ({ on: Boolean(call?.sending.video) }),
  hand: () => ({ on: Boolean(call?.sending.hand) }),
  screen: () => ({ on: Boolean(call?.sending.screen) }),
  people: () => ({ people: (call?.people.list ?? []).map(person), viewers: call?.people.viewers ?? 0 }),
  layout: () => ({ name: call?.mine?.name ?? call?.layout ?? null, scope: call?.mine ? 'me' : 'room' }),
  recording: () => ({ on: Boolean(call?.recording) }),
  role: () => ({ role: call?.role ?? null }),
};
const tellState = (...names) => names.forEach(name => tells(name, STATES[name](), true));

const joined = () => ({ room: call?.room, id: call?.id, name: call?.me?.name ?? null, role: call?.role });
const all = () => ({ phase: phase(), ...(phase() === 'call' ? joined() : {}), ...Object.fromEntries(Object.entries(STATES).map(([name, read]) => [name, read()])) });

/** @param {import('./call.js').Call} next */
function follow(next) {
  call = next;
  const on = (types, act) => types.split(' ').forEach(type => next.addEventListener(type, ({ detail }) => act(detail)));
  on('entered admitted', () => { tells('joined', joined()); tellState(...Object.keys(STATES)); });
  on('waiting', () => { tells('waiting', {}); tellState('muted', 'camera'); });
  on('changed', () => tellState('muted', 'camera', 'hand', 'screen'));
  on('people', () => tellState('people'));
  on('view', () => tellState('layout'));
  on('recording', () => tellState('recording'));
  on('role', () => tellState('role', 'muted', 'camera'));
  on('speaker', id => tells('speaker', { id }));
  on('refused problem', ({ code, message = null }) => tells('error', { code, message }));
  on('connection', connection => tells('connection', { state: connection }));
  on('ended', end => { tells('left', { reason: end?.reason ?? null }); tellState('muted', 'camera', 'hand', 'screen'); });
}

// ---- What the host's page wants

const ACTIONS = {
  hello: () => tell(state.hello(all())),
  join: ({ name }) => {
    if (name) $('name').value = name;
    if (!$('name').value) $('name').value = page.guest();
    if (!$('room').value) return { code: 'field', message: 'join: the address of the frame names no room' };
    // Nobody has read the sign of a recording: the call asks.
    page.lobby.submit(false);
  },
  leave: () => call?.leave(),
  mute: () => call?.sending.setAudio(false),
  unmute: () => (call?.isViewer ? AUDIENCE : call?.sending.setAudio(true)),
  camera: ({ on }) => (on && call?.isViewer ? AUDIENCE : call?.sending.setVideo(on)),
  hand: ({ on }) => { if (call && call.sending.hand !== on) call.sending.toggleHand(); },
  stopScreen: () => call?.sending.stopScreen(),
  layout: ({ name, scope = 'me' }) => {
    if (scope === 'room' && !call?.mayArrange) return { code: 'forbidden', message: 'layout: only a moderator changes the picture of everyone' };
    if (name === null) call?.commonPicture();
    else call?.chooseLayout(name, scope);
  },
};
const AUDIENCE = { code: 'forbidden', message: 'who is in the audience is neither heard nor seen' };

async function act(data, origin) {
  const asked = state.heard(data, phase(), performance.now());
  if (!asked) return;
  host = origin;
  if ('event' in asked) return tell(asked);
  const { command, id, fields } = asked;
  const refusal = await ACTIONS[command](fields);
  if (refusal?.code) tell({ ...event('error', refusal), command, ...(id === undefined ? {} : { id }) });
  else if (id !== undefined) tell(done(command, id));
}

// ---- Who may

/// The server's list is in the headers of this very page. Asked for once; again where that failed.
let policy = null;
async function mayCommand(origin) {
  policy ??= fetch(location.href, { method: 'HEAD', cache: 'no-store' }).then(answer => answer.headers.get('Content-Security-Policy'));
  return permits(await policy.catch(() => policy = null), origin, location.origin);
}

/** @param {typeof page} parts */
export function bindFrame(parts) {
  page = parts;
  let early = 0;
  addEventListener('message', async ({ source, origin, data }) => {
    // Other windows and frames can send messages to this one: only the page that holds it counts.
    if (source !== parent || early >= MAX_EARLY) return;
    early += 1;
    const isPermitted = await mayCommand(origin).finally(() => { early -= 1; });
    if (isPermitted) await act(data, origin);
  });
  page.lobby.called = follow;
  // It says nothing but that somebody listens now, so that it may go to any page.
  parent.postMessage(event('ready'), '*');
}
