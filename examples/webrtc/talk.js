/**
 * Talks to an agent over WebRTC, in a browser. Resolves when the connection is being made; the agent is heard by itself.
 * @param {string} daemon its address, such as https://voice.example.com; '' = where the page comes from
 * @param {(message: { method: string, data?: any, payload?: any }) => void} onMessage as on the talk socket
 */
export async function talk(daemon, publicKey, agentId, onMessage) {
  const ask = async (path, authorization, body = {}) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const response = await fetch(daemon + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const reply = await response.json();
    if (!response.ok) throw Object.assign(new Error(JSON.stringify(reply.detail)), { status: response.status });
    return reply;
  };
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  const microphone = await navigator.mediaDevices.getUserMedia({ audio });
  const { token, ice_servers: iceServers } = await ask('/sessions/token', publicKey);
  const connection = new RTCPeerConnection({ iceServers });
  const channel = connection.createDataChannel('parley');
  const loudspeaker = new Audio();
  connection.ontrack = ({ track }) => {
    loudspeaker.srcObject = new MediaStream([track]);
    void loudspeaker.play();
  };
  const sender = connection.addTrack(microphone.getAudioTracks()[0], microphone);
  let sessionId = null;

  /** Offers the connection as it is now, with all its candidates, and takes the answer. */
  const offer = async (send) => {
    // Before an ICE restart iceGatheringState is 'complete' still, of the last time. A server that does not answer is not
    // waited for.
    const gathered = new Promise((resolve) => {
      connection.addEventListener('icecandidate', ({ candidate }) => candidate === null && resolve());
      globalThis.setTimeout(resolve, 3000);
    });
    await connection.setLocalDescription();
    await gathered;
    await connection.setRemoteDescription(await send(connection.localDescription.toJSON()));
  };
  const overHttp = async (authorization, more) =>
    offer(async (made) => {
      const reply = await ask('/webrtc/offer', authorization, { offer: made, agent_id: agentId, ...more });
      return reply.answer;
    });
  /** To be called where the network has changed: the conversation goes on over the new one. */
  const reconnect = async () => {
    connection.restartIce();
    const { token: another } = await ask('/sessions/token', publicKey);
    await overHttp(another, { session_id: sessionId });
  };
  const hangUp = () => {
    microphone.getTracks().forEach((track) => track.stop());
    connection.close();
  };

  /** Nobody is left who could say that it is over. */
  const giveUp = () => {
    if (connection.connectionState === 'closed') return;
    hangUp();
    onMessage({ method: 'onsessionended', payload: { status: 'error' } });
  };

  channel.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.method === 'onready') sessionId = message.payload.session_id;
    if (message.method === 'onsessionended') hangUp();
    onMessage(message);
  };
  /** The daemon waits for 12 s; 'failed' would come later than that. */
  let isRecovering = false;
  const recover = async () => {
    isRecovering = true;
    for (let attempts = 0; attempts < 8; attempts++) {
      if (['connected', 'closed'].includes(connection.connectionState)) break;
      const isOver = await reconnect().then(
        () => false,
        ({ status }) => status === 404,
      );
      if (isOver) giveUp();
      else await new Promise((resolve) => globalThis.setTimeout(resolve, 1500));
    }
    if (connection.connectionState !== 'connected') giveUp();
    isRecovering = false;
  };
  connection.onconnectionstatechange = () => {
    if (connection.connectionState === 'disconnected' && !isRecovering) void recover();
  };
  addEventListener('pagehide', hangUp); // else the daemon notices after 12 s
  await overHttp(token);
  return { connection, channel, sender, loudspeaker, reconnect, hangUp };
}
