// Cameras, microphones and loudspeakers: the list, and the browser's refusals.

const CAMERA = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
const MICROPHONE = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 };

/// Opens the devices that can be opened. `camera`, `microphone`: a device's id, '' for any, 'none'; `facing`: user or
/// environment. `problems` has {code, device, message} about each one that does not open.
export async function openDevices({ camera = '', microphone = '', facing = null }) {
  const problems = [];
  const stream = new MediaStream();
  if (camera === 'none' && microphone === 'none') return { stream, problems };
  if (!navigator.mediaDevices) return { stream, problems: [{ code: 'insecure' }] };
  const open = async (device, kind, constraints) => {
    try {
      const part = await navigator.mediaDevices.getUserMedia({ [kind]: constraints });
      part.getTracks().forEach(track => stream.addTrack(track));
    } catch (error) {
      problems.push({ code: REFUSALS[error.name] ?? 'failed', device, message: error.message || error.name });
    }
  };
  if (microphone !== 'none') await open('microphone', 'audio', { ...MICROPHONE, ...exact(microphone) });
  if (camera !== 'none') await open('camera', 'video', { ...CAMERA, ...(facing ? { facingMode: { ideal: facing } } : exact(camera)) });
  return { stream, problems };
}

const REFUSALS = { NotAllowedError: 'denied', NotFoundError: 'missing', NotReadableError: 'inUse' };
const exact = id => (id ? { deviceId: { ideal: id } } : {});

/// The devices of a kind ('camera', 'microphone' or 'loudspeaker') as [{id, label}]; labels may be empty before the user
/// has let the page use one.
export async function listDevices(device) {
  const kind = { camera: 'videoinput', microphone: 'audioinput', loudspeaker: 'audiooutput' }[device];
  const devices = navigator.mediaDevices ? await navigator.mediaDevices.enumerateDevices() : [];
  return devices.filter(each => each.kind === kind && each.deviceId).map(({ deviceId, label }) => ({ id: deviceId, label }));
}

/// Reports the devices that were plugged in and unplugged, as [{device, id, label}] each. Returns a function that stops
/// this.
export async function watchDevices(report) {
  const list = async () => (await Promise.all(['camera', 'microphone', 'loudspeaker'].map(
    async device => (await listDevices(device)).map(each => ({ device, ...each }))))).flat();
  const without = (all, others) => all.filter(one => !others.some(other => other.device === one.device && other.id === one.id));
  let before = await list();
  const changed = async () => {
    const now = await list();
    const [added, removed] = [without(now, before), without(before, now)];
    before = now;
    if (added.length || removed.length) report(added, removed);
  };
  navigator.mediaDevices?.addEventListener('devicechange', changed);
  return () => navigator.mediaDevices?.removeEventListener('devicechange', changed);
}

/// Reports the level, 0 to 1, of a stream's audio ten times a second. Returns a function that stops this.
export function watchLevel(stream, report) {
  if (!stream.getAudioTracks().length) return () => report(0);
  const context = new AudioContext();
  const analyser = new AnalyserNode(context, { fftSize: 1024 });
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    report(Math.min(1, Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length) * 4));
  }, 100);
  return () => {
    clearInterval(timer);
    if (context.state !== 'closed') context.close();
  };
}
