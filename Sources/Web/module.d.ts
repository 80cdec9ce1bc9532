// The types of the module for pages that embed a call, /assets/tessera.js. Embedding.md of the server explains each member.

/** What `join` takes. */
export interface JoinOptions {
  /** 1 to 64 characters. */
  room: string;
  /** 1 to 64 characters, which the others see. */
  name: string;
  /** A JWT, where the server asks for one. */
  token?: string;
  /** The room's PIN, where it has one. */
  pin?: string;
  role?: Role;
  layout?: string;
  view?: string;
  /** `false`: this user is left out of recordings and streams. */
  recorded?: boolean;
  /** `false`: the user does not know yet whether the call is recorded, and is asked by `consent`. */
  isTold?: boolean;
  /** `true`: any; `false`: none; or the id of a device. */
  camera?: boolean | string;
  microphone?: boolean | string;
  /** The server's origin; that of the module, if missing. */
  server?: string;
}

export type Role = 'participant' | 'presenter' | 'moderator' | 'viewer';
export type Reaction = '👍' | '👏' | '❤️' | '😂' | '😮' | '🎉';
/** Of the microphone and the camera: nothing is sent while one opens, or is paused by the system. */
export type Shown = 'on' | 'opening' | 'paused' | 'off';
export type ConnectionState = 'connected' | 'interrupted' | 'broken' | 'reconnecting' | 'moving' | 'lost';

/** With which `join` rejects. */
export interface JoinError extends Error {
  /** One of the error codes of the signalling, `unreachable` or `busy`. */
  code: string;
}

export interface Problem {
  code: string;
  device?: string;
  message?: string;
}

export interface Person {
  id: string;
  name: string;
  role: Role;
  audio: boolean;
  video: boolean;
  hand: boolean;
  speaking: boolean;
  presenting: boolean;
  audioMuted: boolean;
  videoMuted: boolean;
  pinned: boolean;
  volume: number;
  recorded?: boolean;
  /** The number of the breakout group in which the person is; missing for the room itself. */
  group?: number;
}

export interface Tile {
  participant: string;
  x: number;
  y: number;
  width: number;
  height: number;
  label: boolean;
  source?: 'screen';
}

export interface ChatMessage {
  id: string;
  from: string;
  name: string;
  text: string;
  at: string;
  to?: string;
  picture?: { url: string; type: string; bytes: number };
  /** The number of the breakout group in which it was written; missing for the room itself. */
  group?: number;
  /** It is to all groups. */
  all?: boolean;
  /** From before the join. */
  isEarlier?: boolean;
}

export interface FileTransfer {
  id: string;
  /** What the sender says of itself. */
  from: string;
  name: string;
  bytes: number;
  /** 0 to 1; null: the file is lost. */
  progress: number | null;
  /** With the last part: of unknown bytes, for `download`. */
  url?: string;
}

/** The link, once a second. Rates in kbit/s, losses 0 to 1, the round trip in seconds. */
export interface LineState {
  quality: 'good' | 'fair' | 'poor';
  code: string;
  loss: number;
  down: number;
  up: number;
  lossDown: number;
  lossUp: number;
  roundTrip: number | null;
  /** What the way to the server may carry, in kbit/s, where the browser says so. */
  mayUp: number | null;
}

/** The events of a `Call`, with their `detail`. */
export interface CallEvents {
  entered: string;
  waiting: undefined;
  admitted: string;
  delayed: number;
  refused: { code: string; message?: string };
  ended: { reason: string; message?: string } | null;
  viewRefused: { code: string; retryAfter?: number };
  seat: undefined;
  consent: undefined;
  people: undefined;
  tiles: undefined;
  view: undefined;
  recording: undefined;
  streaming: undefined;
  room: undefined;
  waitingPeople: undefined;
  joins: { joined: Person[]; left: Person[] };
  speaker: string | null;
  chat: ChatMessage;
  reaction: { from: string; reaction: Reaction };
  file: FileTransfer;
  changed: undefined;
  role: Role;
  muted: string;
  asked: string;
  screenStopped: string;
  /** Whether the camera rests, since the line is too thin for it. It comes back by itself; `sending.setVideo(true)` sends it at once. */
  cameraRests: boolean;
  problem: Problem;
  stream: undefined;
  connection: ConnectionState;
  moving: { within: number };
  moved: { isSeamless: boolean };
  line: LineState;
}

/** What the user sends. */
export interface Sent {
  /** Whether others hear the user. */
  readonly audio: boolean;
  /** Whether others see the user. */
  readonly video: boolean;
  readonly shown: { audio: Shown; video: Shown };
  readonly hand: boolean;
  readonly screen: MediaStreamTrack | null;
  /** The tracks of the open devices. */
  readonly stream: MediaStream;
  toggleAudio(): Promise<unknown>;
  setAudio(isOn: boolean): Promise<unknown>;
  toggleVideo(): Promise<unknown>;
  setVideo(isOn: boolean): Promise<unknown>;
  /** Begins only in a user's gesture. */
  toggleScreen(): Promise<unknown>;
  stopScreen(): Promise<unknown>;
  toggleHand(): void;
  switchDevice(kind: 'audio' | 'video', id: string): Promise<unknown>;
}

/** A call, from `join` to its end. */
export interface Call extends Omit<EventTarget, 'addEventListener' | 'removeEventListener'> {
  /** Picture and sound, the same object for the whole call. */
  readonly stream: MediaStream;
  readonly sending: Sent;
  readonly room: string;
  readonly id: string | null;
  readonly me: Person | undefined;
  readonly role: Role;
  readonly people: { list: Person[]; viewers: number };
  readonly tiles: { width: number; height: number; tiles: Tile[] } | null;
  readonly layout: string | null;
  readonly mine: { name: string; pin: string | null } | null;
  readonly view: string;
  readonly views: string[];
  readonly recording: { id: string; state: 'recording' | 'paused' } | null;
  readonly streaming: boolean;
  readonly settings: { locked?: boolean; layoutLocked?: boolean; admit?: 'anyone' | 'moderator'; pin?: boolean; hls?: boolean };
  readonly waiting: { id: string; name: string }[];
  /** Whether nothing is sent, since the room is recorded and the user has not answered. */
  readonly isHeld: boolean;
  readonly seat: { room: string; id?: string; secret?: string };
  readonly channel: { react(reaction: Reaction): unknown; sendFile(file: File): Promise<boolean> };

  chat(text: string, to?: string): void;
  chooseLayout(name: string, scope: 'room' | 'me'): void;
  pin(id: string): void;
  commonPicture(): void;
  takeView(name: string): void;
  beRecorded(on: boolean): void;
  record(action: 'start' | 'pause' | 'resume' | 'stop'): void;
  moderate(action: string, participant?: string | null, fields?: object): void;
  changeRoom(settings: { locked?: boolean; layoutLocked?: boolean; admit?: 'anyone' | 'moderator'; pin?: string }): void;
  /** Sends microphone and camera from now on, or neither until the user turns one on. */
  consent(sends: boolean): Promise<unknown>;
  leave(): void;

  addEventListener<Name extends keyof CallEvents>(
    type: Name, listener: (event: CustomEvent<CallEvents[Name]>) => void, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<Name extends keyof CallEvents>(
    type: Name, listener: (event: CustomEvent<CallEvents[Name]>) => void, options?: boolean | EventListenerOptions): void;
}

/** Joins a room; resolves once the server has let the user in, and rejects with a `JoinError`. */
export function join(options: JoinOptions): Promise<Call>;

export interface Device {
  id: string;
  /** May be empty before the user has let the page use a device. */
  label: string;
}
export type DeviceKind = 'camera' | 'microphone' | 'loudspeaker';
export function listDevices(kind: DeviceKind): Promise<Device[]>;
/** Reports what was plugged in and unplugged; resolves to a function that stops this. */
export function watchDevices(report: (added: (Device & { device: DeviceKind })[], removed: (Device & { device: DeviceKind })[]) => void): Promise<() => void>;
/** Reports the level of the audio, 0 to 1, ten times a second; returns a function that stops this. */
export function watchLevel(stream: MediaStream, report: (level: number) => void): () => void;

/** The largest file that `channel.sendFile` sends. */
export const MAX_FILE_BYTES: number;
export const REACTIONS: readonly Reaction[];
