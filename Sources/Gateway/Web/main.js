// The page: lobby, call, end. panels.js draws, connection.js and signalling.js communicate with the server.

import { Connection } from '/assets/connection.js';
import { listDevices, openDevices, remember, remembered, watchLevel } from '/assets/devices.js';
import { Line } from '/assets/line.js';
import {
  addMessage, clearMessages, isChatOpen, isSideOpen, notice, showLayouts, showNames, showPeople, showSide, toggleSide, unread, zoom,
} from '/assets/panels.js';
import { People } from '/assets/people.js';
import { Signalling } from '/assets/signalling.js';

const $ = id => document.getElementById(id);
const query = new URLSearchParams(location.search);
// A token is a key: it is removed from the address bar, so that it is not copied from there, and kept only for this
// tab.
if (query.has('token')) {
  sessionStorage.setItem('tessera.token', query.get('token'));
  query.delete('token');
  history.replaceState(null, '', `${location.pathname}${query.toString() ? `?${query}` : ''}${location.hash}`);
}
const token = () => sessionStorage.getItem('tessera.token');
const roomInPath = location.pathname.match(/^\/r\/([^/]+)$/)?.[1];

const own = { audio: true, video: true, hand: false, screen: null };
let stream = new MediaStream();
let signalling = null, connection = null, line = null;
// `mine`: the user's own view, {name, pin}; null: the room's view.
let people = new People(), tiles = null, layout = null, mine = null, recording = null, stopMeter = () => {}, timers = [], awake = null;

function show(page) {
  for (const id of ['lobby', 'call', 'ended']) $(id).hidden = id !== page;
}

// ---- Lobby

async function preview() {
  stopMeter();
  stream.getTracks().forEach(track => track.stop());
  const opened = await openDevices({ camera: $('camera').value || remembered('camera'), microphone: $('microphone').value || remembered('microphone') });
  stream = opened.stream;
  stream.getTracks().forEach(watchTrack);
  $('preview').srcObject = stream;
  const hasVideo = stream.getVideoTracks().length > 0;
  $('preview-note').textContent = [...opened.problems, ...(hasVideo || opened.problems.length ? [] : ['Your camera is off'])].join(' ');
  showLevel();
  await fillSelects('camera', 'microphone');
}

function showLevel() {
  stopMeter();
  stopMeter = watchLevel(stream, level => { $('preview-level').value = level; });
}

async function fillSelects(camera, microphone) {
  await listDevices($(camera), 'videoinput', stream.getVideoTracks()[0]?.getSettings().deviceId ?? (remembered('camera') || 'none'));
  await listDevices($(microphone), 'audioinput', stream.getAudioTracks()[0]?.getSettings().deviceId ?? (remembered('microphone') || 'none'));
}

async function lobby() {
  show('lobby');
  $('name').value = query.get('name') ?? remembered('name');
  $('room').value = query.get('room') ?? (roomInPath ? decodeURIComponent(roomInPath) : remembered('room'));
  for (const id of ['camera', 'microphone']) $(id).onchange = () => { remember(id, $(id).value); preview(); };
  $('join-form').onsubmit = event => {
    event.preventDefault();
    remember('name', $('name').value);
    remember('room', $('room').value);
    join();
  };
  const opening = preview();
  if (query.get('join') === '1' && $('room').value) {
    if (!$('name').value) $('name').value = 'Guest';
    await opening;
    join();
  }
}

function fail(text) {
  $('join').disabled = false;
  $('join-error').textContent = text;
  $('join-error').hidden = false;
  show('lobby');
  showLevel();
}

// ---- Call

function join() {
  $('join').disabled = true;
  $('join-error').hidden = true;
  stopMeter();
  own.audio = stream.getAudioTracks().length > 0;
  own.video = stream.getVideoTracks().length > 0;
  const address = new URL('/signal', location.href);
  address.protocol = address.protocol.replace('http', 'ws');
  const request = { room: $('room').value.trim(), name: $('name').value.trim(), deltas: true };
  for (const key of ['layout', 'role']) if (query.get(key)) request[key] = query.get(key);
  if (token()) request.token = token();
  signalling = new Signalling(address.href, request);
  listen(signalling);
  signalling.open();
}

function listen(signalling) {
  const on = (type, handler) => signalling.addEventListener(type, ({ detail }) => handler(detail));
  on('joined', joined);
  on('answer', message => connection?.answered(message.sdp).catch(error => notice(`The server's answer does not fit: ${error.message}`)));
  on('participants', message => { people.take(message); refresh(); });
  on('participantsChanged', message => { people.change(message); refresh(); });
  on('tiles', message => { tiles = message; refresh(); });
  on('speaker', message => { for (const person of people.list) person.speaking = person.id === message.participant; refresh(); });
  on('layout', message => { layout = message.name ?? message.layout; });
  on('recording', message => showRecording(message.recording === undefined ? message : message.recording));
  on('chat', chatted);
  on('line', message => { if (line) line.server = message; });
  on('left', message => end(message.reason));
  on('lost', ({ attempt, wait }) => {
    if (!connection) {
      if (wait && attempt <= 10) {
        $('join-error').textContent = `Many are coming in at the moment. Trying again in ${Math.ceil(wait)} s …`;
        $('join-error').hidden = false;
        return;
      }
      signalling.close();
      return fail(wait ? 'The server has all the calls that it can carry. Try again later.' : 'The server cannot be reached.');
    }
    notice(attempt > 1 ? 'The connection to the server is lost. Trying again …' : 'Reconnecting …', 0);
  });
  on('error', message => {
    if (message.code === 'unauthorized') sessionStorage.removeItem('tessera.token');
    if (message.fatal || !connection) {
      signalling.close();
      if (connection) end(message.message);
      else fail(message.message);
    } else notice(message.message);
  });
}

async function joined(message) {
  people.take(message);
  layout = message.layout;
  showRecording(message.recording);
  notice(null);
  if (message.resumed && connection) {
    sendState();
    refresh();
    return connection.resumed();
  }
  mine = query.get('layout') && query.get('layout') !== layout ? { name: query.get('layout'), pin: null } : null;
  const isNew = !connection;
  connection?.close();
  connection = new Connection(signalling, message.iceServers ?? [], { audio: stream.getAudioTracks()[0], video: videoTrack() });
  line = new Line(connection.pc);
  const mix = $('mix');
  connection.addEventListener('remote', () => {
    // The audio and video tracks come one after the other into the same stream, and a second load would end the first
    // play().
    if (mix.srcObject !== connection.remote) mix.srcObject = connection.remote;
    mix.play().catch(error => {
      if (error.name !== 'NotAllowedError') return;
      // The browser requires a tap before it plays audio: show the picture until then.
      mix.muted = true;
      mix.play().catch(() => {});
      $('unmute-page').hidden = false;
    });
  });
  connection.addEventListener('state', ({ detail }) => {
    if (detail === 'connected') notice(null);
    else if (detail === 'disconnected') notice('The line is interrupted. Waiting for it to come back …', 0);
    else if (detail === 'failed') notice('The line broke. Trying another way …', 0);
  });
  $('join').disabled = false;
  $('join-error').hidden = true;
  history.replaceState(null, '', `/r/${encodeURIComponent(message.room)}${location.search}`);
  document.title = `${message.room} – Tessera`;
  if (isNew) enter();
  $('link').value = new URL(`/r/${encodeURIComponent(message.room)}`, location.href).href;
  sendState();
  if (own.screen) signalling.send({ type: 'present', on: true });
  await connection.offer();
  timers.forEach(clearInterval);
  timers = [setInterval(updateLine, 1000)];
  refresh();
}

/// The setup that happens once for a call, and not again after the server was unreachable.
function enter() {
  show('call');
  showSide(null);
  clearMessages();
  unread(0);
  $('unmute-page').hidden = true;
  $('mix').muted = false;
  $('line').hidden = true;
  stayAwake();
}

/// Without this, phones turn the screen off in the middle of a call.
async function stayAwake() {
  if (!connection || document.visibilityState !== 'visible') return;
  awake = await navigator.wakeLock?.request('screen').catch(() => null);
}

const videoTrack = () => own.screen ?? stream.getVideoTracks()[0] ?? null;

/// A device that is unplugged ends its track.
function watchTrack(track) {
  track.onended = () => {
    if (!stream.getTracks().includes(track)) return;
    stream.removeTrack(track);
    own[track.kind] = false;
    if (connection) {
      if (track.kind === 'audio') connection.sendAudio(null);
      else if (!own.screen) connection.sendVideo(null);
      notice(track.kind === 'audio' ? 'The microphone is gone.' : 'The camera is gone.');
      sendState();
      refresh();
    }
  };
}

function sendState() {
  signalling.send({ type: 'state', audio: own.audio, video: own.video || Boolean(own.screen), hand: own.hand });
}

function refresh() {
  showPeople(people, signalling?.id, mine?.pin, pin);
  showNames(tiles, people, $('mix'));
  press('toggle-audio', own.audio, 'mic', own.audio ? 'Mute' : 'Unmute', own.audio ? 'Mute the microphone' : 'Switch the microphone on');
  press('toggle-video', own.video, 'camera', 'Camera', own.video ? 'Switch the camera off' : 'Switch the camera on');
  $('toggle-hand').setAttribute('aria-pressed', String(own.hand));
  $('toggle-screen').setAttribute('aria-pressed', String(Boolean(own.screen)));
  $('toggle-screen').hidden = !navigator.mediaDevices?.getDisplayMedia;
}

/// Chooses the view of this page: `layout` with that participant first, or the room's view again.
function ownPicture(name, pinned = null) {
  mine = name === layout && !pinned ? null : { name, pin: pinned };
  signalling.send({ type: 'layout', name, scope: 'me', pin: pinned ? [pinned] : [] });
  refresh();
}

function pin(id) {
  if (mine?.pin === id) ownPicture(layout);
  else ownPicture('speaker', id);
}

function press(id, isOn, iconName, text, action) {
  const button = $(id);
  button.classList.toggle('off', !isOn);
  button.setAttribute('aria-label', action);
  button.querySelector('use').setAttribute('href', `#icon-${iconName}${isOn ? '' : '-off'}`);
  button.querySelector('span').textContent = text;
}

let lineState = null;

async function updateLine() {
  lineState = await line?.read();
  if (!lineState) return;
  $('line').hidden = false;
  $('line').textContent = lineState.words;
  $('line').setAttribute('aria-label', lineState.spoken);
  $('line').className = `badge line ${lineState.quality}`;
  if ($('line-details').open) showLine();
}

function showLine() {
  $('line-list').replaceChildren(...(lineState?.details ?? []).flatMap(([name, value]) => {
    const term = document.createElement('dt'), detail = document.createElement('dd');
    term.textContent = name;
    detail.textContent = value;
    return [term, detail];
  }));
}

function showRecording(state) {
  recording = state && ['recording', 'paused'].includes(state.state) ? state : null;
  if (state?.state === 'failed') notice(`The recording failed${state.error ? `: ${state.error}` : '.'}`);
  $('recording-badge').hidden = !recording;
  $('recording-text').textContent = recording?.state === 'paused' ? 'Recording paused' : 'Recording';
  $('toggle-record').classList.toggle('on', Boolean(recording));
  $('toggle-record').setAttribute('aria-label', recording ? 'Stop recording' : 'Record the call');
  $('toggle-record').querySelector('span').textContent = recording ? 'Stop' : 'Record';
}

function chatted(message) {
  const from = message.from ?? message.participant;
  const name = message.name ?? people.find(from)?.name ?? 'Someone';
  addMessage({ name, text: message.text, at: message.at ?? message.time, isPrivate: Boolean(message.to) });
  if (!isChatOpen() && from !== signalling.id) unread();
}

// ---- Controls

async function toggleAudio() {
  if (!own.audio && !stream.getAudioTracks().length) {
    const opened = await openDevices({ camera: 'none', microphone: '' });
    const track = opened.stream.getAudioTracks()[0];
    if (!track) return notice(opened.problems[0]);
    watchTrack(track);
    stream.addTrack(track);
    await connection.sendAudio(track);
  }
  own.audio = !own.audio;
  stream.getAudioTracks().forEach(track => { track.enabled = own.audio; });
  sendState();
  refresh();
}

async function toggleVideo() {
  if (own.video) {
    // The camera's light goes off only when the track is stopped.
    stream.getVideoTracks().forEach(track => { track.stop(); stream.removeTrack(track); });
    own.video = false;
    if (!own.screen) await connection.sendVideo(null);
  } else {
    const opened = await openDevices({ microphone: 'none', camera: remembered('camera') === 'none' ? '' : remembered('camera') });
    const track = opened.stream.getVideoTracks()[0];
    if (!track) return notice(opened.problems[0]);
    watchTrack(track);
    stream.addTrack(track);
    own.video = true;
    if (!own.screen) await connection.sendVideo(track);
  }
  sendState();
  refresh();
}

async function toggleScreen() {
  if (own.screen) return stopScreen();
  try {
    const shared = await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { max: 15 } } });
    own.screen = shared.getVideoTracks()[0];
  } catch (error) {
    if (error.name !== 'NotAllowedError') notice(`The screen could not be shared (${error.message}).`);
    return;
  }
  own.screen.contentHint = 'detail';
  own.screen.onended = stopScreen;
  signalling.send({ type: 'present', on: true });
  await connection.sendVideo(own.screen);
  sendState();
  refresh();
}

async function stopScreen() {
  own.screen?.stop();
  own.screen = null;
  signalling.send({ type: 'present', on: false });
  await connection?.sendVideo(videoTrack());
  sendState();
  refresh();
}

async function switchDevice(kind) {
  const id = kind === 'video' ? 'call-camera' : 'call-microphone';
  remember(kind === 'video' ? 'camera' : 'microphone', $(id).value);
  const opened = await openDevices(kind === 'video' ? { camera: $(id).value, microphone: 'none' } : { microphone: $(id).value, camera: 'none' });
  const track = opened.stream.getTracks()[0] ?? null;
  if (!track && $(id).value !== 'none') return notice(opened.problems[0]);
  stream.getTracks().filter(old => old.kind === kind).forEach(old => { old.stop(); stream.removeTrack(old); });
  if (track) {
    watchTrack(track);
    stream.addTrack(track);
  }
  if (kind === 'audio') {
    own.audio = Boolean(track);
    await connection.sendAudio(track);
  } else {
    own.video = Boolean(track);
    if (!own.screen) await connection.sendVideo(track);
  }
  sendState();
  refresh();
}

const REASONS = {
  removed: 'A moderator has removed you from the call.',
  room_ended: 'The room was closed for everyone.',
  replaced: 'You have joined from another window or device.',
};

function end(reason) {
  timers.forEach(clearInterval);
  signalling?.close();
  connection?.close();
  connection = null;
  awake?.release();
  awake = null;
  own.screen?.stop();
  own.screen = null;
  stream.getTracks().forEach(track => track.stop());
  tiles = null;
  $('ended-title').textContent = reason ? 'The call ended' : 'You left the call';
  $('ended-text').textContent = reason ? REASONS[reason] ?? String(reason) : '';
  document.querySelectorAll('dialog[open]').forEach(dialog => dialog.close());
  notice(null);
  show('ended');
  $('ended-title').focus();
}

function leave() {
  signalling.send({ type: 'leave' });
  end(null);
}

$('toggle-audio').onclick = toggleAudio;
$('toggle-video').onclick = toggleVideo;
$('toggle-screen').onclick = toggleScreen;
$('toggle-hand').onclick = () => { own.hand = !own.hand; sendState(); refresh(); };
$('toggle-record').onclick = () => signalling.send({ type: 'record', action: recording ? 'stop' : 'start' });
for (const name of ['people', 'chat']) {
  $(`open-${name}`).onclick = () => toggleSide(name);
  $(`tab-${name}`).onclick = () => showSide(name);
  $(`tab-${name}`).onkeydown = ({ key }) => {
    if (key !== 'ArrowLeft' && key !== 'ArrowRight') return;
    const other = name === 'people' ? 'chat' : 'people';
    showSide(other);
    $(`tab-${other}`).focus();
  };
}
$('side-close').onclick = () => showSide(null);
$('leave').onclick = leave;
$('open-layout').onclick = async () => {
  const choose = (name, scope) => {
    if (scope === 'me') ownPicture(name, name === layout ? null : mine?.pin);
    else signalling.send({ type: 'layout', name, scope });
    $('layout-menu').close();
  };
  await showLayouts(layout, mine?.name, choose, token());
  $('layout-menu').showModal();
};
$('open-settings').onclick = async () => { await fillSelects('call-camera', 'call-microphone'); $('settings').showModal(); };
$('call-camera').onchange = () => switchDevice('video');
$('call-microphone').onchange = () => switchDevice('audio');
$('copy-link').onclick = async () => {
  $('link').select();
  // Without HTTPS there is no clipboard object, but the old command copies the selection.
  const isCopied = await navigator.clipboard?.writeText($('link').value).then(() => true, () => false) || document.execCommand('copy');
  $('copy-link').textContent = isCopied ? 'Copied' : 'Copy it from the field';
  setTimeout(() => { $('copy-link').textContent = 'Copy link'; }, 2000);
};
$('line').onclick = () => {
  if ($('line-details').open) return $('line-details').close();
  $('line-details').show();
  $('line').setAttribute('aria-expanded', 'true');
  $('line').focus();
  showLine();
};
$('line-details').onclose = () => $('line').setAttribute('aria-expanded', 'false');
$('unmute-page').onclick = () => { $('mix').muted = false; $('mix').play().catch(() => {}); $('unmute-page').hidden = true; };
$('chat-form').onsubmit = event => {
  event.preventDefault();
  const text = $('chat-text').value.trim();
  if (!text) return;
  const to = $('chat-to').value;
  signalling.send({ type: 'chat', text, ...(to ? { to } : {}) });
  $('chat-text').value = '';
};
$('rejoin').onclick = () => { stream = new MediaStream(); lobby(); };
new ResizeObserver(() => showNames(tiles, people, $('mix'))).observe($('stage'));
$('stage').onclick = event => {
  if (event.target.closest('button, dialog')) return;
  const box = $('stage').getBoundingClientRect();
  zoom(tiles, $('mix'), event.clientX - box.left, event.clientY - box.top);
  showNames(tiles, people, $('mix'));
};
$('mix').onresize = () => showNames(tiles, people, $('mix'));
addEventListener('keydown', event => {
  if (event.key === 'Escape' && !$('call').hidden && !document.querySelector('dialog:modal')) {
    if ($('line-details').open) $('line-details').close();
    else if (isSideOpen()) showSide(null);
    return;
  }
  if ($('call').hidden || event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, select, textarea')) return;
  const action = { m: toggleAudio, v: toggleVideo, h: $('toggle-hand').onclick }[event.key];
  action?.();
});
document.addEventListener('visibilitychange', stayAwake);
addEventListener('pagehide', () => { if (connection) signalling?.send({ type: 'leave' }); });
lobby();
