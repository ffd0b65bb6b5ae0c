import { parentPort } from 'node:worker_threads';
import { reasonOf } from '../../../errors.js';
import { DecoderPool } from './decoder-pool.js';
import type { SpeechDecoder } from './decoder.js';
import { judge } from './gate.js';
import type { Answer, AnswerValue, Request } from './protocol.js';
import { RoundRobin } from './scheduler.js';

/** The recogniser's thread: hosts all decoders of the process and answers the requests of protocol.ts. */
const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');

const pool = new DecoderPool();
const scheduler = new RoundRobin();
const decoders = new Map<number, SpeechDecoder>();
const inTurn = new Set<number>();
/** Opening is one at a time: it waits for files in places, and the pool must not be entered twice. */
let opening: Promise<void> = Promise.resolve();

port.on('message', (request: Request) => {
  switch (request.kind) {
    case 'warm':
      openLater(request.id, async () => {
        await pool.warm(request.language);
        return null;
      });
      break;
    case 'open':
      openLater(request.id, async () => {
        const { decoder, report } = await pool.borrow(request.language, request.hints);
        decoders.set(request.stream, decoder);
        return report;
      });
      break;
    case 'audio':
      scheduler.add(request.stream, () => {
        answer(request.id, () => decode(request.stream, request.samples));
      });
      break;
    case 'end':
      scheduler.add(request.stream, () => {
        if (inTurn.delete(request.stream)) decoders.get(request.stream)?.endUtterance();
      });
      break;
    case 'close':
      close(request.stream);
      break;
  }
});

function decode(stream: number, samples: Int16Array): AnswerValue {
  const decoder = decoders.get(stream);
  if (decoder === undefined) throw new Error('The stream is not open');
  if (!inTurn.has(stream)) {
    decoder.startUtterance();
    inTurn.add(stream);
  }
  decoder.feed(samples);
  return judge(decoder.bestPath());
}

function close(stream: number): void {
  scheduler.drop(stream);
  inTurn.delete(stream);
  const decoder = decoders.get(stream);
  if (decoder === undefined) return;
  decoders.delete(stream);
  pool.giveBack(decoder);
}

function openLater(id: number, work: () => Promise<AnswerValue>): void {
  opening = opening.then(work).then(
    (value) => {
      send({ id, ok: true, value });
    },
    (error: unknown) => {
      send({ id, ok: false, reason: reasonOf(error) });
    },
  );
}

function answer(id: number, work: () => AnswerValue): void {
  try {
    send({ id, ok: true, value: work() });
  } catch (error) {
    send({ id, ok: false, reason: reasonOf(error) });
  }
}

function send(message: Answer): void {
  port?.postMessage(message);
}
