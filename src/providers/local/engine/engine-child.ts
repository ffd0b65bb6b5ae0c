/**
 * The process of one local model. It is a process and not a thread, because sherpa-onnx exits on a model that it cannot
 * read (`_Exit` in csrc/macros.h), and a running computation can only be stopped by killing it.
 */
import type { Cancel } from '../../../base/clock.js';
import { RealClock } from '../../../base/real-clock.js';
import { reasonOf } from '../../../base/errors.js';
import type { EngineLoad, EnginePart, EngineReply, EngineRequest } from './engine-protocol.js';
import { enginePart } from './engine-parts.js';
import { loadSherpa, type SherpaPackage } from '../sherpa-package.js';

if (process.send === undefined) throw new Error('This file runs as a child process');
let part: EnginePart | null = null;
/** Requests that arrived before the model was loaded. */
const early: EngineRequest[] = [];
const clock = new RealClock();
let idleMs: number | null = null;
let cancelIdle: Cancel | null = null;

// The parent process has exited.
process.on('disconnect', () => process.exit());
process.on('message', (request: EngineRequest) => {
  if (request.type === 'load') void load(request.load);
  else if (part === null) early.push(request);
  else take(request, part);
});

async function load(what: EngineLoad): Promise<void> {
  let sherpa: SherpaPackage;
  try {
    sherpa = await loadSherpa();
  } catch (error) {
    reply({ type: 'unusable', reason: reasonOf(error), isMissing: true });
    return;
  }
  try {
    part = enginePart(sherpa, what, reply);
    reply({ type: 'ready', sampleRateHz: part.sampleRateHz, speakers: part.speakers });
    idleMs = what.idleMs;
    restNow();
    for (const request of early.splice(0)) take(request, part);
  } catch (error) {
    reply({ type: 'unusable', reason: reasonOf(error), isMissing: false });
  }
}

/** Starts the idle timer. */
function restNow(): void {
  cancelIdle?.();
  if (idleMs === null) return;
  cancelIdle = clock.schedule(clock.nowMs() + idleMs, () => {
    reply({ type: 'idle' });
    restNow();
  });
}

function take(request: EngineRequest, by: EnginePart): void {
  if (request.type === 'load') return;
  restNow();
  if (request.type === 'ping') {
    void (by.settled?.() ?? Promise.resolve()).then(() => reply({ type: 'pong' }));
    return;
  }
  try {
    by.take(request);
  } catch (error) {
    reply({ type: 'failed', id: request.id, reason: reasonOf(error) });
  }
}

function reply(message: EngineReply): void {
  if (process.connected) process.send?.(message);
}
