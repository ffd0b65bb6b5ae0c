import { afterEach, describe, expect, it } from 'vitest';
import { EmbeddedStt, type EmbeddedSttOptions } from '../../../../src/providers/stt/embedded/provider.js';
import { RealClock } from '../../../../src/base/real-clock.js';
import { runningResources } from '../../../../src/testing/leaks.js';
import { Listener, RESTAURANT } from './support.js';

const FAULTY = new URL('faulty-worker.mjs', import.meta.url);
const providers: EmbeddedStt[] = [];

function make(options: EmbeddedSttOptions = {}): EmbeddedStt {
  const stt = new EmbeddedStt(options);
  providers.push(stt);
  return stt;
}

afterEach(async () => {
  await Promise.all(providers.splice(0).map((stt) => stt.close()));
});

describe('opening', () => {
  it.each(['de-DE', 'zz', '', 'multi'])('refuses the language %j by name', async (language) => {
    await expect(new Listener().open(make(), RESTAURANT, language)).rejects.toMatchObject({
      code: 'STT_LANGUAGE_UNSUPPORTED',
      details: { language, supported: 'en-* and fr-*' },
    });
  });

  it('has a limit, and room again after a close', async () => {
    const stt = make({ maxStreams: 1, workerEntry: FAULTY });
    const first = await new Listener().open(stt);
    await expect(new Listener().open(stt)).rejects.toMatchObject({ code: 'STT_CAPACITY', details: { limit: 1 } });
    await first.stream.close();
    await first.stream.close();
    await new Listener().open(stt);
  });

  it('rejects with the signal’s reason where it is aborted before or meanwhile', async () => {
    const stt = make({ maxStreams: 1, workerEntry: FAULTY });
    const reason = new Error('hung up');
    await expect(new Listener().open(stt, RESTAURANT, 'en-US', AbortSignal.abort(reason))).rejects.toBe(reason);
    const abort = new AbortController();
    const opening = new Listener().open(stt, RESTAURANT, 'en-US', abort.signal);
    abort.abort(reason);
    await expect(opening).rejects.toBe(reason);
    await new Listener().open(stt);
  });

  it('fails after the provider was closed, which may happen twice', async () => {
    const stt = make({ workerEntry: FAULTY });
    await new Listener().open(stt);
    await stt.close();
    await stt.close();
    await expect(new Listener().open(stt)).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    await expect(stt.warmUp()).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });
});

describe('faults', () => {
  it('tells every stream once when the thread dies, and starts another for the next', async () => {
    const stt = make({ workerEntry: FAULTY });
    const one = await new Listener().open(stt);
    const two = await new Listener().open(stt);
    await one.speech(new Int16Array(16_000));
    await one.settle();
    await new Promise((resolve) => setImmediate(resolve));
    for (const listener of [one, two]) {
      expect(listener.errors).toMatchObject([{ code: 'PROVIDER_FAILED' }]);
      expect(listener.errors[0]?.message).toContain('the decoder broke');
    }
    const calls = one.heard.length;
    await one.speech(new Int16Array(3200));
    expect(one.heard).toHaveLength(calls);
    await one.stream.close();

    const three = await new Listener().open(stt);
    await three.speech(new Int16Array(320), 40);
    expect(three.errors).toEqual([]);
  });

  it('fails clearly where the thread cannot start', async () => {
    const stt = make({ workerEntry: new URL('no-such-file.mjs', import.meta.url) });
    await expect(stt.warmUp()).rejects.toMatchObject({ code: 'PROVIDER_FAILED' });
  });

  it('gives no transcript after close or abort', async () => {
    const stt = make({ workerEntry: FAULTY });
    const abort = new AbortController();
    const listener = await new Listener().open(stt, RESTAURANT, 'en-US', abort.signal);
    listener.stream.push(new Int16Array(1600), 0);
    listener.stream.speechStarted(0);
    abort.abort();
    listener.stream.speechStopped(1600);
    listener.stream.endTurn();
    await listener.settle();
    expect(listener.heard).toEqual([]);
    expect(listener.errors).toEqual([]);
    expect(listener.clock.pending).toBe(0);
  });
});

it('leaves no thread running', async () => {
  const before = runningResources().get('worker thread') ?? 0;
  const stt = make();
  await stt.warmUp();
  const stream = await stt.open(
    { language: 'en-US', hints: RESTAURANT, clock: new RealClock(), signal: new AbortController().signal },
    { onTranscript: () => undefined, onError: () => undefined },
  );
  stream.speechStarted(0);
  stream.push(new Int16Array(16_000), 0);
  await stt.close();
  expect(runningResources().get('worker thread') ?? 0).toBe(before);
}, 30_000);
