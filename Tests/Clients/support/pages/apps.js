// The test page as a client of other systems: the same picture, tone and measurements as in peer.html, with an app's signalling.

/// A data channel in each direction, as the apps have them: the page sends on the server's, and hears only on its own.
function crossChannels() {
  state.data = [];
  const own = pc.createDataChannel('WebRTCData');
  own.binaryType = 'arraybuffer';
  own.onmessage = ({ data }) => state.data.push(typeof data === 'string' ? `text:${data}` : `binary:${digest(new Uint8Array(data))}`);
  pc.ondatachannel = ({ channel }) => {
    if (channel.label === 'WebRTCData') window.theirs = channel;
  };
}

const digest = bytes => `${bytes.length}:${bytes.reduce((a, b) => (a * 31 + b) % 65521, 7)}`;

function countFrames() {
  const onFrame = () => {
    state.frames += 1;
    state.frameTimes.push(performance.now());
    if (state.frameTimes.length > 600) state.frameTimes.shift();
    video.requestVideoFrameCallback(onFrame);
  };
  video.requestVideoFrameCallback(onFrame);
}

/// The WebRTC demo: binary frames of JSON over `url`, a new socket every 2 s when one is gone, an offer when the test says so.
async function startDemo(url) {
  crossChannels();
  countFrames();
  state.texts = 0;
  state.answers = 0;
  state.sockets = 0;
  const connect = () => {
    socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    state.sockets += 1;
    socket.onmessage = async ({ data }) => {
      if (typeof data === 'string') {
        state.texts += 1;
        return;
      }
      const { type, payload } = JSON.parse(new TextDecoder().decode(data));
      if (type === 'SessionDescription') {
        await pc.setRemoteDescription(payload);
        state.answers += 1;
      }
    };
    socket.onclose = ({ code, reason }) => {
      state.closed = [code, reason];
      setTimeout(connect, 2000);
    };
  };
  connect();
  const send = message => { if (socket.readyState === 1) socket.send(new TextEncoder().encode(JSON.stringify(message))); };
  pc.onicecandidate = ({ candidate }) => {
    if (candidate?.candidate) {
      send({ type: 'IceCandidate', payload: { sdp: candidate.candidate, sdpMLineIndex: candidate.sdpMLineIndex, sdpMid: candidate.sdpMid } });
    }
  };
  window.sendOffer = async options => {
    const offer = await pc.createOffer(options);
    await pc.setLocalDescription(offer);
    send({ type: 'SessionDescription', payload: { sdp: offer.sdp, type: 'offer' } });
    return true;
  };
}

/// A client that only answers: the test carries the descriptions. The tracks go into the sections of the first offer.
async function prepareAnswers() {
  crossChannels();
  countFrames();
  const [tone, camera] = [await toneTrack(), cameraTrack()];
  window.answerOffer = async sdp => {
    await pc.setRemoteDescription({ type: 'offer', sdp });
    for (const transceiver of pc.getTransceivers()) {
      if (transceiver.direction === 'sendrecv') continue;
      const isVideo = transceiver.receiver.track.kind === 'video';
      await transceiver.sender.replaceTrack(isVideo ? camera : tone);
      transceiver.direction = 'sendrecv';
      if (isVideo) transceiver.setCodecPreferences(RTCRtpReceiver.getCapabilities('video').codecs.filter(c => c.mimeType === 'video/H264'));
    }
    await pc.setLocalDescription();
    return pc.localDescription.sdp;
  };
  state.ready = true;
}
