// The way of AppRTC's web app into a room, with the media of peer.html: parameters, WebSocket and join side by side, the offer and its
// candidates by POST without waiting for one another, the answer on the WebSocket, and a new offer after `bye`. `apprtc` in the query is
// the server; the whole query goes on to the join, as from AppRTC's own page.
const apprtc = { room: query.get('room'), results: [], byes: 0, offers: 0, unknown: 0, closed: null, errors: [] };

const apprtcServer = path => query.get('apprtc') + path;
const apprtcURL = verb => apprtcServer(`/${verb}/${apprtc.room}/${apprtc.client}`);

/// A failed request counts as the web app counts it: everything but status 200 is an error.
async function askAppRTC(method, url, body) {
  const response = await fetch(url, { method, body });
  if (response.status !== 200) throw new Error(`${method} ${url}: ${response.status}`);
  return response.text();
}

async function startAppRTC() {
  state.apprtc = apprtc;
  const params = JSON.parse(await askAppRTC('GET', apprtcServer(`/params${location.search}`)));
  // The web app asks for ICE servers as soon as its page is loaded, before it joins.
  const servers = askAppRTC('POST', params.ice_server_url).then(text => JSON.parse(text).iceServers);
  apprtc.socket = new WebSocket(params.wss_url);
  const opened = new Promise((done, failed) => Object.assign(apprtc.socket, { onopen: done, onerror: () => failed(Error('WebSocket')) }));
  apprtc.socket.onclose = event => { apprtc.closed = [event.code, event.reason]; };
  apprtc.socket.onmessage = async ({ data }) => {
    if (typeof data !== 'string') return apprtc.errors.push('a binary frame');
    const frame = JSON.parse(data);
    if (typeof frame.msg !== 'string' || typeof frame.error !== 'string') apprtc.errors.push(`keys: ${data}`);
    if (frame.error) return apprtc.errors.push(frame.error);
    await handleAppRTC(JSON.parse(frame.msg));
  };
  const joined = askAppRTC('POST', apprtcServer(`/join/${apprtc.room}${location.search}`)).then(JSON.parse);
  const [answer] = await Promise.all([joined, opened]);
  state.join = answer;
  if (answer.result !== 'SUCCESS') throw new Error(answer.result);
  // The web app puts the link into its address bar, which a browser refuses for another site's.
  if (new URL(answer.params.room_link).origin !== location.origin) throw new Error(`room_link: ${answer.params.room_link}`);
  apprtc.client = answer.params.client_id;
  apprtc.post = answer.params.wss_post_url;
  apprtc.config = { ...JSON.parse(answer.params.pc_config), iceServers: await servers };
  // The Android app asks after its join.
  if (query.get('ice') === 'joined') apprtc.config.iceServers = JSON.parse(await askAppRTC('POST', answer.params.ice_server_url)).iceServers;
  apprtc.constraints = JSON.parse(answer.params.media_constraints);
  apprtc.socket.send(JSON.stringify({ cmd: 'register', roomid: answer.params.room_id, clientid: apprtc.client }));
  apprtc.tracks = [await toneTrack(), cameraTrack()];
  await callAppRTC();
}

function postAppRTC(body) {
  // Nothing waits for this: candidates and offer arrive in any order.
  return askAppRTC('POST', apprtcURL('message') + location.search, JSON.stringify(body)).then(text => {
    const { result } = JSON.parse(text);
    apprtc.results.push(`${body.type} ${result}`);
    if (result === 'UNKNOWN_CLIENT') apprtc.unknown += 1;
  });
}

/// A connection and an offer, for the first time or after `bye`.
async function callAppRTC() {
  pc = new RTCPeerConnection({ ...apprtc.config, certificates: [await RTCPeerConnection.generateCertificate({ name: 'ECDSA', namedCurve: 'P-256' })] });
  const own = pc;
  pc.ontrack = ({ track, streams }) => {
    video.srcObject = streams[0];
    video.play().catch(() => {});
    if (track.kind !== 'audio') return;
    heard = track;
    analyser = new AnalyserNode(context, { fftSize: 32768, smoothingTimeConstant: 0 });
    context.createMediaStreamSource(new MediaStream([track])).connect(analyser);
  };
  pc.onconnectionstatechange = () => { if (own === pc) { state.connected = pc.connectionState === 'connected'; state.connection = pc.connectionState; } };
  pc.onicecandidate = ({ candidate }) => {
    // The web app leaves out its TCP candidates, and has no message for the end of them.
    if (candidate && !candidate.candidate.includes('tcp')) postAppRTC({ type: 'candidate', label: candidate.sdpMLineIndex, id: candidate.sdpMid, candidate: candidate.candidate });
  };
  const stream = new MediaStream(apprtc.tracks);
  apprtc.tracks.forEach(track => pc.addTrack(track, stream));
  state.offered = performance.now();
  const offer = await pc.createOffer({ offerToReceiveAudio: 1, offerToReceiveVideo: 1 });
  pc.setLocalDescription(offer);
  apprtc.offers += 1;
  postAppRTC({ type: 'offer', sdp: offer.sdp });
}

async function handleAppRTC(received) {
  if (received.type === 'answer') await pc.setRemoteDescription(received);
  else if (received.type === 'bye') {
    apprtc.byes += 1;
    pc.close();
    state.connected = false;
    await callAppRTC();
  } else apprtc.errors.push(`type ${received.type}`);
}

/// In the web app's order.
async function hangUpAppRTC() {
  pc.close();
  await askAppRTC('POST', apprtcURL('leave'));
  const bye = JSON.stringify({ type: 'bye' });
  if (apprtc.socket.readyState === WebSocket.OPEN) apprtc.socket.send(JSON.stringify({ cmd: 'send', msg: bye }));
  else askAppRTC('POST', `${apprtc.post}/${apprtc.room}/${apprtc.client}`, bye).catch(error => apprtc.errors.push(String(error)));
  apprtc.socket.close();
  return askAppRTC('DELETE', `${apprtc.post}/${apprtc.room}/${apprtc.client}`);
}
