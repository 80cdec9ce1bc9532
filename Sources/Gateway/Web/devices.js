// Cameras and microphones: the list, the remembered choice, and the browser's refusals.

const remembered = key => localStorage.getItem(`tessera.${key}`) ?? '';
export const remember = (key, value) => localStorage.setItem(`tessera.${key}`, value);
export { remembered };

const CAMERA = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
const MICROPHONE = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 };

/// Opens the devices that can be opened; `problems` has a sentence for people about each other one.
export async function openDevices({ camera = remembered('camera'), microphone = remembered('microphone') } = {}) {
  const problems = [];
  const stream = new MediaStream();
  if (!navigator.mediaDevices) {
    problems.push('This page needs HTTPS (or localhost) before the browser lets it use camera and microphone. You can still watch and listen.');
    return { stream, problems };
  }
  const open = async (kind, constraints) => {
    try {
      const part = await navigator.mediaDevices.getUserMedia({ [kind]: constraints });
      part.getTracks().forEach(track => stream.addTrack(track));
    } catch (error) {
      problems.push(explain(kind, error));
    }
  };
  if (microphone !== 'none') await open('audio', { ...MICROPHONE, ...exact(microphone) });
  if (camera !== 'none') await open('video', { ...CAMERA, ...exact(camera) });
  return { stream, problems };
}

const exact = id => (id ? { deviceId: { ideal: id } } : {});

function explain(kind, error) {
  const thing = kind === 'audio' ? 'microphone' : 'camera';
  switch (error.name) {
    case 'NotAllowedError': return `The browser does not let this page use the ${thing}. Allow it beside the address, then choose it here.`;
    case 'NotFoundError': return `No ${thing} was found. You can join without one.`;
    case 'NotReadableError': return `The ${thing} is in use by another program.`;
    default: return `The ${thing} could not be opened (${error.message || error.name}).`;
  }
}

/// Fills a <select> with the devices of a kind, "none" last; keeps the choice.
export async function listDevices(select, kind, chosen) {
  const devices = navigator.mediaDevices ? await navigator.mediaDevices.enumerateDevices() : [];
  const name = kind === 'audioinput' ? 'Microphone' : 'Camera';
  const options = devices.filter(device => device.kind === kind && device.deviceId)
    .map((device, index) => new Option(device.label || `${name} ${index + 1}`, device.deviceId));
  if (!options.length) options.push(new Option(`Default ${name.toLowerCase()}`, ''));
  options.push(new Option(`No ${name.toLowerCase()}`, 'none'));
  select.replaceChildren(...options);
  if (options.some(option => option.value === chosen)) select.value = chosen;
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
