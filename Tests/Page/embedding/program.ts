// A page of another site in TypeScript, as `tessera.d.ts` lets it be written. It is compiled and never run.

import { join, listDevices, MAX_FILE_BYTES, REACTIONS } from 'https://meet.example/assets/tessera.js';
import type { Call, JoinError, Person } from 'https://meet.example/assets/tessera.js';

const names = (people: Person[]): string => people.map(person => person.name).join(', ');

export async function start(video: HTMLVideoElement, status: HTMLElement): Promise<Call | null> {
  try {
    const [camera] = await listDevices('camera');
    const call = await join({ room: 'kitchen', name: 'Ada', camera: camera?.id ?? false, isTold: false });
    video.srcObject = call.stream;
    call.addEventListener('people', () => { status.textContent = names(call.people.list); });
    call.addEventListener('joins', ({ detail }) => { status.textContent = names(detail.joined); });
    call.addEventListener('consent', () => call.consent(true));
    call.addEventListener('chat', ({ detail }) => { if (!detail.isEarlier) status.textContent = `${detail.name}: ${detail.text}`; });
    call.addEventListener('ended', ({ detail }) => { status.textContent = detail === null ? 'left' : detail.reason; });
    call.addEventListener('line', ({ detail: { quality, down } }) => { status.title = `${quality}, ${down} kbit/s`; });
    if (call.sending.shown.audio === 'on') await call.sending.toggleAudio();
    call.chooseLayout('speaker', 'me');
    call.channel.react(REACTIONS[0]!);
    call.moderate('mute', call.people.list[0]?.id);
    return call;
  } catch (error) {
    const { code, message } = error as JoinError;
    status.textContent = `${code}: ${message}, files of ${MAX_FILE_BYTES} bytes`;
    return null;
  }
}

export async function wrong(call: Call): Promise<void> {
  // @ts-expect-error: there is no such event
  call.addEventListener('noSuchEvent', () => {});
  // @ts-expect-error: a room is needed
  await join({ name: 'Ada' });
  // @ts-expect-error: the scope is room or me
  call.chooseLayout('grid', 'all');
}
