/** Callers on talk sockets (docs/talk-socket.md) that behave well, beside whom others attack. */
import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';
import { decodeWav } from '../../dist/audio/files/wav.js';
import { PUBLIC_KEY } from '../daemon-process.mjs';

const FRAME_MS = 20;
const FRAME_BYTES = 640;
const SILENCE = Buffer.alloc(FRAME_BYTES);
const SENDING_MS = 10;

/**
 * Speech of a recording at 16 kHz as frames, behind it so much silence.
 * @param {string} file below fixtures/audio
 * @param {number} silenceMs
 */
export function framesOf(file, silenceMs) {
  const { samples, sampleRateHz } = decodeWav(readFileSync(new URL(`../../fixtures/audio/${file}`, import.meta.url)));
  if (sampleRateHz !== 16_000) throw new Error(`${file} has ${sampleRateHz} Hz`);
  const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  const frames = [];
  for (let at = 0; at + FRAME_BYTES <= bytes.length; at += FRAME_BYTES) {
    frames.push(bytes.subarray(at, at + FRAME_BYTES));
  }
  for (let ms = 0; ms < silenceMs; ms += FRAME_MS) frames.push(SILENCE);
  return frames;
}

/** Talks until it is closed; hangs up after a while, and calls again when its conversation has ended. */
export class Caller {
  /** Conversations that began, and those that ended in another way than by the agent or by `close`. */
  calls = 0;
  /** @type {string[]} */
  faults = [];
  answers = 0;
  /** Frames of the agent's voice, and how many came too late to be played without a gap. */
  frames = 0;
  lateFrames = 0;
  worstLateMs = 0;
  #address;
  #agentId;
  #frames;
  /** @type {WebSocket | null} */
  #socket = null;
  #longestMs;
  #closed = false;
  #hungUp = false;
  #ready = false;
  #sent = 0;
  #startedMs = 0;
  #position = 0;
  /** When the audio that has come so far has been played. */
  #playedUntilMs = 0;
  #timer;

  /**
   * @param {string} address
   * @param {string} agentId
   * @param {Buffer[]} [frames] said again and again; none = silence
   * @param {number} [longestMs] how long a conversation may be before the caller hangs up
   */
  constructor(address, agentId, frames = [], longestMs = Number.POSITIVE_INFINITY) {
    this.#address = address.replace('http', 'ws');
    this.#agentId = agentId;
    this.#frames = frames;
    this.#longestMs = longestMs;
    this.#call();
    this.#timer = setInterval(() => this.#send(), SENDING_MS);
  }

  close() {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#socket?.close();
  }

  #call() {
    const socket = new WebSocket(`${this.#address}/talk`);
    this.#socket = socket;
    this.#ready = false;
    this.#hungUp = false;
    this.#playedUntilMs = 0;
    let ended = '';
    socket.on('open', () => {
      const data = { public_key: PUBLIC_KEY, agent: { agent_id: this.#agentId } };
      socket.send(JSON.stringify({ method: 'initiate', data }));
    });
    socket.on('message', (/** @type {Buffer} */ message, isBinary) => {
      if (isBinary) return this.#hear(message.length);
      const { method, payload, data } = JSON.parse(message.toString());
      if (method === 'onready') {
        this.calls++;
        this.#ready = true;
        this.#startedMs = performance.now();
        this.#sent = 0;
      } else if (method === 'start_answering') this.answers++;
      else if (method === 'onsessionended') ended = payload.status;
      else if (method === 'onerror') this.faults.push(data);
      else if (method === 'pause' || method === 'clear') this.#playedUntilMs = 0;
    });
    socket.on('error', (error) => this.#closed || this.faults.push(error.message));
    socket.on('close', (code) => {
      if (this.#closed) return;
      if (ended !== 'agent-ended' && !this.#hungUp) this.faults.push(`ended: ${ended || code}`);
      setTimeout(() => this.#closed || this.#call(), 500);
    });
  }

  #send() {
    if (!this.#ready || this.#socket?.readyState !== WebSocket.OPEN) return;
    const elapsedMs = performance.now() - this.#startedMs;
    if (elapsedMs > this.#longestMs) {
      this.#hungUp = true;
      this.#socket.close();
      return;
    }
    const due = elapsedMs / FRAME_MS;
    for (; this.#sent < due; this.#sent++) {
      const frame = this.#frames.length === 0 ? SILENCE : this.#frames[this.#position++ % this.#frames.length];
      this.#socket.send(frame);
    }
  }

  /**
   * A player without a jitter buffer: speech begins with its first frame, and a frame that comes after the ones before
   * it have been played leaves a gap. A gap of a second is a pause between answers.
   * @param {number} bytes
   */
  #hear(bytes) {
    const nowMs = performance.now();
    const lateMs = nowMs - this.#playedUntilMs;
    this.frames++;
    if (this.#playedUntilMs > 0 && lateMs > 1 && lateMs < 1000) {
      this.lateFrames++;
      this.worstLateMs = Math.max(this.worstLateMs, lateMs);
    }
    this.#playedUntilMs = Math.max(this.#playedUntilMs, nowMs) + (bytes / FRAME_BYTES) * FRAME_MS;
  }
}

/** An agent that speaks without a break for about a minute and a half, whoever speaks. */
export const STORYTELLER = {
  name: 'Storyteller',
  config: {
    prompt: 'You tell a story.',
    llm: { model: 'scripted' },
    first_message: Array.from({ length: 40 }, (_, at) => `This is sentence number ${at + 1} of a long story.`).join(
      ' ',
    ),
    flow: { interruption: { allowed: false, first_messsage: false } },
  },
  script: { rules: [] },
};
