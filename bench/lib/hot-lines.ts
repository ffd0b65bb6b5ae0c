import { createParser } from 'eventsource-parser';
import { g722Decoder, g722Encoder } from '../../dist/audio/codecs/g722.js';
import { OpenAiReply } from '../../dist/providers/llm/vendors/openai.js';
import { serialiseRtp } from '../../dist/transports/rtp/packet.js';
import { parseSdp } from '../../dist/transports/rtp/sdp.js';
import { newSrtpKey, SrtpReceiver, SrtpSender } from '../../dist/transports/rtp/srtp.js';
import { RecordingTrack } from '../../dist/session/record/recording.js';
import { parseMessage } from '../../dist/telephony/sip/parse.js';
import { messageBytes } from '../../dist/telephony/sip/message.js';
import { PcmReader, pcmBytes } from '../../dist/transports/pcm.js';
import type { HotFunction } from './hot-functions.js';
import { sound } from './rivals.js';

const FRAME = 320;

/** What runs for every packet, message and frame of lines, models' answers and recordings. */
export function lineFunctions(): HotFunction[] {
  return [...g722(), ...secured(), ...signalling(), answer(), talkSocket(), recording()];
}

function g722(): HotFunction[] {
  const [encoder, decoder, frame] = [g722Encoder(), g722Decoder(), sound(FRAME)];
  const [bytes, samples] = [new Uint8Array(FRAME / 2), new Int16Array(FRAME)];
  const codes = encoder.encode(frame).slice();
  return [
    ['G.722, encode', () => void encoder.encode(frame, bytes)],
    ['G.722, decode', () => void decoder.decode(codes, samples)],
  ];
}

/** A receiver takes no packet twice: each is sealed for it first. */
function secured(): HotFunction[] {
  const clear = { payloadType: 0, marker: false, timestamp: 1120, ssrc: 99, payload: new Uint8Array(160) };
  return (['AES_CM_128_HMAC_SHA1_80', 'AEAD_AES_128_GCM'] as const).map((suite) => {
    const key = newSrtpKey(suite);
    const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)];
    let sequence = 0;
    const once = (): void => {
      const packet = serialiseRtp({ ...clear, sequence: sequence++ & 0xffff });
      if (receiver.open(sender.protect(packet)) === null) throw new Error('a packet was not opened');
    };
    return [`SRTP, 5 packets there and back, ${suite}`, () => times(5, once)];
  });
}

function signalling(): HotFunction[] {
  const sdp =
    'v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 20000 RTP/AVP 0 8 101\r\n' +
    'a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n';
  const bytes = Buffer.from(
    'INVITE sip:bob@192.0.2.2 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK776asdhds;rport\r\n' +
      'Max-Forwards: 70\r\nTo: Bob <sip:bob@192.0.2.2>\r\nFrom: Alice <sip:alice@192.0.2.1>;tag=1928301774\r\n' +
      'Call-ID: a84b4c76e66710@192.0.2.1\r\nCSeq: 314159 INVITE\r\nContact: <sip:alice@192.0.2.1:5060>\r\n' +
      'Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, REFER, NOTIFY, INFO, UPDATE, PRACK\r\nSupported: timer, 100rel\r\n' +
      `Content-Type: application/sdp\r\nContent-Length: ${String(sdp.length)}\r\n\r\n${sdp}`,
  );
  const parsed = parseMessage(bytes);
  if (!('message' in parsed)) throw new Error('the INVITE cannot be read');
  const { message } = parsed;
  return [
    ['SIP, an INVITE read', () => void parseMessage(bytes)],
    ['SIP, an INVITE written', () => void messageBytes(message)],
    ['SDP, an offer read', () => void parseSdp(sdp)],
  ];
}

/** Twenty pieces of a model's answer, as they come over HTTP. */
function answer(): HotFunction {
  const piece = (content: string): string =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
  const stream = Array.from({ length: 20 }, (_, at) => piece(`word${String(at)} `));
  return [
    "a model's answer, 20 events read",
    () => {
      const reader = new OpenAiReply('call_');
      const parser = createParser({ onEvent: ({ data }) => void reader.read(JSON.parse(data)) });
      for (const chunk of stream) parser.feed(chunk);
    },
  ];
}

function talkSocket(): HotFunction {
  const [reader, frame] = [new PcmReader(), sound(FRAME)];
  return ['talk socket, 5 frames written and read', () => times(5, () => reader.read(pcmBytes(frame)))];
}

/** A second of both sides: 50 frames heard and given, and taken for the disk. */
function recording(): HotFunction {
  const [user, agent, frame] = [new RecordingTrack(16_000), new RecordingTrack(16_000), sound(FRAME)];
  let now = 0;
  return [
    'recording, a second of both sides',
    () => {
      times(50, () => {
        now += FRAME;
        user.heard(frame, now);
        agent.given(frame, now);
      });
      user.take(16_000);
      agent.take(16_000);
    },
  ];
}

function times(count: number, once: () => unknown): void {
  for (let at = 0; at < count; at++) once();
}
